#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "redis/client/busy_poll.h"
#include "redis/client/pipeline.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/client/request_queue.h"
#include "redis/client/send_buffer.h"
#include "redis/net/pollable.h"

namespace holdfast::client {

// The results that a Connection has to pass on, found with its lock held and passed on without it.
struct Completions {
  RequestQueue::Deliveries deliveries;
  std::vector<InFlightRequest> leavers;  // requests that another server answers
  KeyChanges changes;                    // see ConnectionSetup::on_changes
  bool lost = false;                     // see ConnectionSetup::on_lost
  bool failed = false;                   // see ConnectionSetup::on_failed

  // Without any lock. Afterwards it is empty, and keeps its memory.
  void run(const ConnectionSetup& setup);
};

// The reading half of a Connection: it connects, reads the replies, passes them to their requests,
// and finds that the stream has ended or that requests are overdue. All of it needs the ReadTurn.
class StreamReader {
 public:
  using Wait = ReconnectingStream::Wait;

  explicit StreamReader(const ConnectionSetup& setup)
      : setup_(setup), link_(setup.link, setup.open), busy_poll_(setup.link.busy_poll) {}

  // Nothing, while another thread has the turn.
  std::optional<ReadTurn> take(const Pipeline& pipe) HOLDFAST_REQUIRES(pipe.mutex) {
    (void)pipe;
    if (taken_) return std::nullopt;
    return ReadTurn(*this);
  }
  bool taken(const Pipeline& pipe) const HOLDFAST_REQUIRES(pipe.mutex) {
    (void)pipe;
    return taken_;
  }

  // Makes progress, without the lock while it reads and while it completes requests, so in a
  // WakeBatch; what to wait for before it is of use again. `done`: all requests are answered, and
  // the stream needs no reader.
  net::Interest advance(Pipeline& pipe, const ReadTurn& turn, TimePoint now,
                        Wait wait = Wait::kNone) HOLDFAST_REQUIRES(pipe.mutex);
  // The event to wait for, if there is nothing to do but to read.
  std::optional<net::Interest> only_to_read(const Pipeline& pipe, const ReadTurn& turn) const
      HOLDFAST_EXCLUDES(pipe.mutex);

  // How long a reading may wait for a reply, which arrives soon; zero: not at all.
  Millis moment(const ReadTurn& /*turn*/) const { return link_.moment(); }
  // All that was read was whole replies, and a reading may wait for the next one.
  bool at_rest(const ReadTurn& /*turn*/) const {
    return link_.failures() == 0 && link_.moment() > Millis(0) && link_.at_end();
  }
  // The descriptor shows what is left to read.
  bool shows_input(const ReadTurn& /*turn*/) const { return link_.interest().until != TimePoint{}; }
  // As Transport::await() of the stream, after a look where that is quicker: see BusyPoll.
  net::IoResult await(const ReadTurn& /*turn*/, net::Transport& stream, char* into,
                      std::size_t size) {
    return busy_poll_.measures() ? look(stream, into, size) : stream.await(into, size);
  }
  void close(const ReadTurn& /*turn*/) { link_.close(); }
  // The server's address, as far as it is known; by the thread with the turn.
  const net::Address& address() const { return link_.options().address; }

  // A thread's reading from the stream, past the replies that it has taken, and how
  // that ended. `current`: it is the present stream still.
  struct DirectInput {
    bool current = false;
    const char* bytes = nullptr;
    std::size_t size = 0;
    net::Io io = net::Io::kDone;  // the last reading's
    Status failure{};             // why, with kFailed
  };
  // Passes it on as if advance() had read it.
  void take_input(Pipeline& pipe, const ReadTurn& turn, DirectInput input)
      HOLDFAST_EXCLUDES(pipe.mutex);

 private:
  friend ReadTurn;

  struct Progress {
    std::uint64_t failed_attempts = 0;  // before this
    int failures = 0;                   // in a row, before this
    bool ready = false;
    bool lost = false;
  };

  // Replies that wait, as the first of them is a sign that the server is the wrong one
  // (StaleSigns): until it is known whether another has its place, to which all that is unanswered
  // then goes.
  struct HeldBack {
    TimePoint until;
    RequestPtr asked{};      // the server's own role; null: it is known
    std::uint64_t look = 0;  // for another server; 0: there is none
  };

  net::IoResult look(net::Transport& stream, char* into, std::size_t size);
  net::Interest digest(Pipeline& pipe, TimePoint now, const Progress& progress)
      HOLDFAST_REQUIRES(pipe.mutex);
  // The latest attempt to connect met nothing that listens.
  bool refuses() const;

  net::Interest interest(const Pipeline& pipe) const HOLDFAST_REQUIRES(pipe.mutex);
  bool take_replies(Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);
  bool is_sign(const resp::Reply& error) const;
  // A replica answers a PING, and is no server to work with.
  static bool answers_ping(const Pipeline& pipe, const resp::Reply& reply)
      HOLDFAST_REQUIRES(pipe.mutex) {
    return pipe.role == Role::kReplica && !reply.is_array() && reply.text() == "PONG";
  }
  bool holds_back(Pipeline& pipe, const resp::Reply& reply, TimePoint now)
      HOLDFAST_REQUIRES(pipe.mutex);
  bool still_holds_back(Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);
  bool begin_to_withhold(Pipeline& pipe, const resp::Reply& sign, TimePoint now)
      HOLDFAST_REQUIRES(pipe.mutex);
  void stream_ready(Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);
  bool stream_failed(const Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);
  void stream_lost(Pipeline& pipe) HOLDFAST_REQUIRES(pipe.mutex);
  void attempt_failed(Pipeline& pipe, TimePoint now, bool counts) HOLDFAST_REQUIRES(pipe.mutex);
  void settle(Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);
  void hand_over(Pipeline& pipe) HOLDFAST_REQUIRES(pipe.mutex);
  void drop_overdue(Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);

  const ConnectionSetup& setup_;
  ReconnectingStream link_;
  std::vector<resp::Reply> replies_;   // that were read, and are not taken yet
  std::optional<HeldBack> held_back_;  // set: all of replies_ are held back
  std::size_t passing_ = 0;            // how many of replies_ have waited, and pass now
  // The key of the request whose reply was such a sign; empty: because the server is a replica.
  std::string refused_;
  Completions due_;
  BusyPoll busy_poll_;
  bool taken_ = false;
};

}  // namespace holdfast::client
