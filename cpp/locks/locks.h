#pragma once

// The locks, for what stands above them: one include for the binding. README.md says how a call
// goes through them, and which thread does what. The guard, which stands beside them, includes the
// kinds in sync/recipes and the records of holds in lease/hold.h alone.
//
//   open     engine::Client: one program's client of one deployment. The engine (engine::Engine)
//            has the threads and the queue of events of all clients of a process.
//   lock     engine::Lock, or Quorum, which is made of several; both are Lockables. Counter: of
//            permits without ids; PermitSemaphore: of permits with ids. These are factories: a
//            call returns a sync::Exchange, and nothing is sent before that is begun.
//   wait     exchange->wait(interrupt) blocks the calling thread; CompletionQueue::begin() leaves
//            the exchange to an event loop, whose drain() returns the outcome. Exactly one of them,
//            once. The outcome of an acquire is granted at most once: its caller keeps the grant,
//            or cancel() gives it back.
//   keep     sync::Keeping: an acquire that is one exchange of a longer call. Until the call keeps
//            it, its end, or that of the client, gives the grant back.
//   ask      sync::call_of(context, query), sync::StepRelease, sync::CommandOperation: steps of
//            scripts, steps that go on in the background, and commands as they are, for what is
//            built in Python.
//   move     Lock::detach() and attach(): a hold goes to another process by a sync::Ticket.
//   lose     What a client loses is an Event of the engine's queue; lease::Known says it of a hold.
//   close    Client::close() returns the exchange of the end.
//
// All of it may be called from any thread. What an operation needs and the system refuses (threads,
// descriptors) is thrown as LimitReached before it has begun.

#include "locks/engine/client.h"
#include "locks/engine/completion_queue.h"
#include "locks/engine/counter.h"
#include "locks/engine/engine.h"
#include "locks/engine/guarded.h"
#include "locks/engine/lock.h"
#include "locks/engine/permit_semaphore.h"
#include "locks/engine/quorum.h"
#include "locks/sync/operation/command_operation.h"
#include "locks/sync/operation/keeping.h"
#include "locks/sync/operation/query_operation.h"
#include "locks/sync/operation/release.h"
#include "locks/sync/recipes/keys.h"
