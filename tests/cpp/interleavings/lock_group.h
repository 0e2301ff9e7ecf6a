#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "locks/sync/quorum/fan_out_call.h"
#include "locks/sync/recipes/kinds.h"
#include "support/client.h"
#include "support/server.h"

namespace holdfast::interleavings {

// An owner, in a thread, that acquires several locks at once and releases them at once, as a multi
// lock does: its commands are put off and sent in one piece (client::SendBatch), while other
// threads of the client send and read for themselves. No other owner wants these locks.
class LockGroup {
 public:
  using Blame = std::function<void(const std::string& what)>;

  LockGroup(std::shared_ptr<simulation::Client> client, simulation::Server& server,
            OwnerNumber owner, Blame blame);

  // Once acquired and released, unless the server refuses or the client is closed.
  void run();
  bool left_behind() const;  // on the server

 private:
  sync::Outcome acquire();
  sync::Outcome release();
  sync::Outcome on_all(const std::function<sync::ExchangePtr(const LockName&)>& call) const;
  bool on_server(const LockName& name) const;

  const std::shared_ptr<simulation::Client> client_;
  simulation::Server& server_;
  const OwnerNumber owner_;
  const Blame blame_;
  const sync::LockRecipe& recipe_ = sync::lock_recipe();
  const std::vector<LockName> names_;
};

}  // namespace holdfast::interleavings
