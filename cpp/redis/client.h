#pragma once

// The client of Redis, for what stands above it: one include for its connections and for all that
// their calls name (addresses, TLS, commands, replies, statuses, loops). It knows servers,
// keys and channels, and nothing of what they are used for. README.md says which thread does what.
//
//   open       topology::make(clock, loops, setup): one server, a service under Sentinel, or a
//              cluster. Nothing is sent before the first command.
//   submit     topology->route(key, traffic)->submit(request, &parker): in order behind all earlier
//              requests of the connection. Then serve(parker, control, until) blocks the calling
//              thread, which sends and reads by itself; or the loop reads, and complete() is called
//              there. Request::complete() is called once for each submit() that returned OK.
//              DirectExchange: the same for a thread that finds the connection idle.
//   subscribe  topology->subscribe(channel): messages come to Setup::sink until its on_released()
//              returns true, which release(channel, linger) asks for. The subscription outlives
//              reconnects, and the sink learns when messages may have been missed.
//   move       Connection::move(address): the server is elsewhere from now on. What has no answer
//              is sent again there, in order. Sentinel and Replacement call it by themselves.
//   revoke     request->revoke(): it is not put in line any more; abandon(): not sent (again).
//   close      topology->close(why): what has no answer completes with `why`, and submit() is
//              refused from then on.

#include "redis/client/busy_poll.h"
#include "redis/client/connection.h"
#include "redis/client/direct_exchange.h"
#include "redis/client/event_loop_reader.h"
#include "redis/client/reader_election.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/client/request.h"
#include "redis/client/subscriber.h"
#include "redis/client/tracking.h"
#include "redis/net/endpoint.h"
#include "redis/net/event_loop.h"
#include "redis/topology/slot_map.h"
#include "redis/topology/slots_reply.h"
#include "redis/topology/topology.h"
