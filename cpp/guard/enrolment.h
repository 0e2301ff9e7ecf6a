#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "guard/guard.h"
#include "guard/held_page.h"
#include "guard/settings.h"
#include "locks/lease/hold.h"
#include "redis/base/mutex.h"
#include "redis/client.h"

namespace holdfast::guard {

// One client's part in the guard of its program, which all of its clients share: the page of its
// holds, and of what the guard needs to reach its servers. The client leaves the guard when this
// ends, unless keep_at_exit() was called. Inherited by a child of fork(), it does nothing.
class Enrolment final : public lease::HeldRecords, public std::enable_shared_from_this<Enrolment> {
 public:
  // Starts the executable at `path`, if the program has no guard yet, or its guard has ended; waits
  // until it has answered. kInvalid: why it cannot run here.
  static Result<std::shared_ptr<Enrolment>> make(const std::string& path,
                                                 const std::string& client_id);
  ~Enrolment() override;

  // The program ends: what its clients still hold is left to the guard.
  static void keep_at_exit();

  // Both once, before the first connection. `failed`: the guard cannot know the servers, and why;
  // called once, on any thread, with locks held.
  void set_endpoint(const net::Endpoint& endpoint, std::function<void(const std::string&)> failed)
      HOLDFAST_EXCLUDES(mutex_);
  void set_topology(std::weak_ptr<topology::Topology> topology);

  // For one connection for calls.
  std::shared_ptr<client::StreamWitness> witness();

  const Guard& guard() const { return *guard_; }

  Id add(const LockName& name, OwnerNumber owner, const lease::Renewal& kind,
         TimePoint until) override;
  bool set_until(Id record, TimePoint until) override;
  void remove(Id record) override;

 private:
  class Witness;
  // A server to which a connection for calls leads, and what it says of that.
  struct Link {
    const Witness* of;
    net::Address server;
    std::string connection;
  };

  Enrolment(HeldPage page, std::shared_ptr<Guard> guard, std::string number,
            const std::string& client_id);
  void connected(const Witness& of, const client::StreamOptions& link, const net::Credentials& who,
                 std::string_view connection) HOLDFAST_EXCLUDES(mutex_);
  void reauthenticated(const net::Credentials& who) HOLDFAST_EXCLUDES(mutex_);
  void left(const Witness& of) HOLDFAST_EXCLUDES(mutex_);
  void forget(const Witness& of) HOLDFAST_EXCLUDES(mutex_);
  void write_settings() HOLDFAST_REQUIRES(mutex_);
  bool inherited() const;

  HeldPage page_;
  const std::shared_ptr<Guard> guard_;
  const std::string number_;  // the client's, for the guard
  const std::string client_id_;
  const std::uint64_t epoch_;
  // Guarded by the lock of the keeper whose HeldRecords these are, as is page_.
  std::string field_;         // an owner's: the client's part, and a number behind it
  TimePoint next_reclaim_{};  // when slots of a full page are reclaimed
  std::weak_ptr<topology::Topology> topology_;

  Mutex mutex_;
  Settings settings_ HOLDFAST_GUARDED_BY(mutex_);      // but for what follows from the links
  std::list<Link> links_ HOLDFAST_GUARDED_BY(mutex_);  // the newest first; each witness has one
  std::function<void(const std::string&)> failed_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::guard
