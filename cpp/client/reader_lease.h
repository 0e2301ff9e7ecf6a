#pragma once

#include <cstdint>
#include <memory>

#include "client/event_loop_reader.h"
#include "client/pipeline.h"
#include "client/stream_reader.h"

namespace holdfast::client {

// The lease by which an EventLoopReader reads a Connection of Driver::kLoop, and the supervision of
// that loop by the engine's loop, which reclaims the lease when there is more to do than to read
// replies, when another EventLoopReader uses the connection, and when the reader has stalled. With
// the connection's lock held.
class ReaderLease {
 public:
  // Whether `loop` has the lease.
  bool is_of(const EventLoopReader& loop) const { return loop_.get() == &loop; }

  // No EventLoopReader has the lease: the one in whose Scope the calling thread is gets it, if
  // nothing is against it.
  void offer(Pipeline& pipe, StreamReader& reader, Connection& connection)
      HOLDFAST_REQUIRES(pipe.mutex);
  // A request joins the line of a leased stream.
  void add(Pipeline& pipe, InFlightRequest unanswered) HOLDFAST_REQUIRES(pipe.mutex);
  // The EventLoopReader is about to read: false if the engine's loop has to, which gets the lease
  // back.
  bool begin_turn(Pipeline& pipe, const Connection& connection) HOLDFAST_REQUIRES(pipe.mutex) {
    ++turns_;
    if (!needs_engine(pipe)) return true;
    reclaim(pipe, connection);
    return false;
  }
  void end_turn(Pipeline& pipe, const Connection& connection, const net::Interest& next)
      HOLDFAST_REQUIRES(pipe.mutex) {
    if (needs_engine(pipe) || next.until == TimePoint{}) reclaim(pipe, connection);
  }
  void reclaim(Pipeline& pipe, const Connection& connection) HOLDFAST_REQUIRES(pipe.mutex);

  // In a step of the engine's loop: whether it has to reclaim the lease; what it watches otherwise.
  bool must_end(const Pipeline& pipe, const StreamReader& reader, TimePoint now)
      HOLDFAST_REQUIRES(pipe.mutex);
  net::Interest supervise(Pipeline& pipe, const StreamReader& reader, TimePoint now)
      HOLDFAST_REQUIRES(pipe.mutex);
  // The engine's loop reads in this step.
  void begin_step(Pipeline& pipe, const Connection& connection) HOLDFAST_REQUIRES(pipe.mutex);

 private:
  // There is more to do than to read replies.
  bool needs_engine(const Pipeline& pipe) const HOLDFAST_REQUIRES(pipe.mutex) {
    const Relocation& relocation = pipe.relocation;
    if (relocation.pending() || relocation.decommissioned() || recalled_ || !pipe.closed.ok())
      return true;
    return !pipe.send.stream() || pipe.send.blocked() || pipe.send.failed();
  }
  bool stalled(const Pipeline& pipe, TimePoint now) HOLDFAST_REQUIRES(pipe.mutex);
  static TimePoint late(const Pipeline& pipe) HOLDFAST_REQUIRES(pipe.mutex);

  std::shared_ptr<EventLoopReader> loop_;  // that has the lease; null: none
  bool recalled_ = false;     // until the engine's loop reads, no EventLoopReader gets it
  TimePoint shared_until_{};  // nor until then: two of them used the connection
  bool supervised_ = false;   // the engine's loop looks at look_at_ whether turns_ has grown
  TimePoint look_at_{};
  std::uint64_t turns_ = 0;
  std::uint64_t turns_seen_ = 0;
};

}  // namespace holdfast::client
