#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parker.h"
#include "client/reader_election.h"
#include "client/request.h"
#include "sync/operation/acquire_machine.h"

namespace holdfast::client {
class Connection;
}

namespace holdfast::sync {

// How an operation ended: for an acquisition the verdict says how; for a call kGranted means that
// it was done, with the server's answer in `value` (nothing: nil).
struct Outcome {
  Verdict verdict = Verdict::kGranted;
  Status why{};
  std::optional<std::int64_t> value{};
};

// The number that a reply is, or its text says; nothing: nil.
std::optional<std::int64_t> number_of(const resp::Reply& reply);

// Gets it before the caller does, and may correct it; on any thread.
using Answered = std::function<void(std::optional<std::int64_t>& value, const client::Sent& sent)>;

// Awaits an operation without a thread. Called once, on any thread, with locks of the operation
// held: it only stores the outcome.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void done(std::uint64_t id, Outcome outcome) = 0;
};

// How often: Ctrl-C must end a wait within 0.1 s.
inline constexpr Millis kInterruptSlice{50};
// Asked now and then by a thread that waits, without locks held: true when it is to stop (Ctrl-C).
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  virtual bool pending() = 0;
};

// One exchange of a caller with its servers, however many commands it takes. There are two ways to
// wait for it: wait() blocks the calling thread, which does the I/O itself; finish_to() reports to
// a Completion. Exactly one of them is called, after which the exchange has begun.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Blocks until the outcome. Nothing when `interrupt` (may be null: never) stopped it: then it has
  // been cancelled.
  virtual std::optional<Outcome> wait(Interrupt* interrupt) = 0;

  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id) {
    finish_to(std::move(completion), id, nullptr);
  }
  // The same, where a thread waits for several exchanges at once and reads for each in serve(),
  // until stop_serving(). `reader` is its Parker, null where the loop reads.
  virtual void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                         Parker* reader) = 0;
  // That thread: reads until `until` is over, or `slice` is.
  virtual void serve(Parker& parker, const client::ServeControl& until, TimePoint slice) = 0;
  // What it reads, for all that read the same; null: nothing.
  virtual const client::Connection* reads() const { return nullptr; }
  // That thread leaves, whether the exchange is over or not.
  virtual void stop_serving(Parker& parker) = 0;

  // Any thread (after wait(): the one that waited): the caller no longer waits. A pending grant is
  // released; so is a grant that has arrived, which the caller will never see.
  virtual void cancel() = 0;

  // What its caller wants, which says what the outcome means to it.
  enum class Role { kCall, kAcquire, kRelease };
  virtual Role role() const { return Role::kCall; }

  virtual const LockName& name() const = 0;
  // Of the client whose exchange it is; empty: of none.
  virtual std::string_view client_id() const { return {}; }

  // For observers, before its beginning and after its end: of an acquisition and a release of a
  // lock, which kind of lock, and whose.
  struct About {
    std::string_view kind{};  // empty: nothing to observe
    OwnerNumber owner{};
    bool last = false;  // a release after which the owner holds nothing
  };
  virtual About about() { return {}; }

  // A lock that it is about.
  struct Part {
    std::string client_id;
    std::string name;
    std::string title;  // of a member of a lock made of several, as messages have it; else empty
  };
  virtual std::vector<Part> parts() const {
    return {{std::string(client_id()), std::string(name().bytes()), {}}};
  }
};
using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace holdfast::sync
