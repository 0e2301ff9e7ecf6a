#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/base/stats.h"

namespace holdfast {

// A client's report to its application, about a hold or a connection.
struct Event {
  enum class Kind {
    kLost,              // the hold is gone: `reason` says how
    kLostAfterRelease,  // the same of a hold whose deferred release has ended, for its caller,
                        // before
    kReleased,          // a deferred release is done: nothing more is reported of the hold
    kUnreleased,        // a deferred release has failed, or goes on in the background: `reason`
    kAbandoned,         // its thread or task ended without releasing it: no longer renewed
    kOverlong,  // another's, that the owner waits for, lasts suspiciously long: see `reason`
    kForeign,   // the owner was refused by a key that never expires
    kPermits,   // without a hold: `name` has another number of permits than is wanted: `reason`
    kProtocolError,  // without a hold: a connection was ended by what its server sent: `reason`
    kUnguarded,      // without a hold: the client goes on without a guard: `reason`
    kUnlabelled,     // without a hold: the client goes on without the key that says who it is:
                     // `reason`
    kNotRenewed,     // without a hold: the client has no newer credentials: `reason`
    kResolved,       // a command for `name` was sent again, and has its reply: see `server`
    kClosed,         // without a hold: the client is closed, and has reported its last one
  };
  // The cause of a loss; `reason` says it in words.
  enum class Cause : std::uint8_t {
    kOther,      // also of no loss
    kGone,       // its server no longer has it: it may have been released by force
    kLeaseOver,  // it was not renewed in time, or had a fixed lease
    kClosed,     // its client was closed
  };
  Kind kind = Kind::kLost;
  std::string name;
  std::uint64_t owner = 0;
  std::vector<std::uint64_t> listeners{};  // the numbers of those that are notified
  std::string reason{};                    // kAbandoned: what has ended, "thread" or "task"
  std::optional<std::int64_t> token{};     // a lost hold's newest
  std::string server{};                    // kResolved: the address of the one that answered
  Cause cause = Cause::kOther;             // why a hold is lost
  std::string_view kind_word{};            // the kind of lock, a literal; empty: not known
};

// Where events go. Called on any thread, with locks held: it only puts the event away.
class EventSink : public ReportSink {
 public:
  virtual void post(Event event) = 0;

  void report(Report report) override {
    Event event;
    event.kind = report.kind == Report::Kind::kResolved ? Event::Kind::kResolved
                                                        : Event::Kind::kProtocolError;
    event.name = std::move(report.key);
    event.reason = std::move(report.reason);
    event.server = std::move(report.server);
    post(std::move(event));
  }
};

}  // namespace holdfast
