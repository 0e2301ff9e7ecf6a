#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/reconnecting_stream.h"
#include "guard/guard.h"
#include "guard/held_page.h"
#include "guard/settings.h"
#include "lease/held_records.h"
#include "net/endpoint.h"
#include "topology/topology.h"

namespace holdfast::guard {

// One client's part in the guard of its program, which all of its clients share: the page of its
// holds, and what the guard knows of its servers. The client leaves the guard when this ends,
// unless keep_at_exit() was called. Inherited by a child of fork(), it does nothing.
class Enrolment final : public lease::HeldRecords, public std::enable_shared_from_this<Enrolment> {
 public:
  // Starts the executable at `path`, if the program has no guard yet, or its guard has ended; waits
  // until it has answered. kInvalid: why it cannot run here.
  static Result<std::shared_ptr<Enrolment>> make(const std::string& path,
                                                 const std::string& client_id);
  ~Enrolment() override;

  // The program ends: what its clients still hold is left to the guard.
  static void keep_at_exit();

  // Both once, before the first connection. By the sentinels, or the seeds of a cluster, the guard
  // finds a primary that the client has not been connected to.
  void set_endpoint(const net::Endpoint& endpoint);
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

  Enrolment(HeldPage page, std::shared_ptr<Guard> guard, std::string number,
            const std::string& client_id);
  Settings settings_of(const client::StreamOptions& link, std::size_t place) const;
  void connected(const Settings& server);
  bool inherited() const;
  void make_room();

  HeldPage page_;
  const std::shared_ptr<Guard> guard_;
  const std::string number_;  // of the client, for the guard
  const std::string client_id_;
  const std::uint64_t epoch_;
  std::string field_;         // of an owner: the client's part, and a number behind it
  TimePoint next_reclaim_{};  // of slots in a full page
  std::atomic<std::size_t> places_{0};
  std::weak_ptr<topology::Topology> topology_;
  bool cluster_ = false;
  std::vector<net::Address> seeds_;  // of a cluster
  std::atomic<bool> seeds_sent_{false};
};

}  // namespace holdfast::guard
