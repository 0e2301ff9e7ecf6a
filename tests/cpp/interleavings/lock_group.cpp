#include "interleavings/lock_group.h"

#include <algorithm>
#include <utility>

#include "locks/sync/quorum/quorum_round.h"
#include "support/calls.h"

namespace holdfast::interleavings {

namespace {

using sync::FanOutCall;
using sync::Outcome;
using sync::Verdict;

constexpr Millis kLease{600'000};

// The first outcome that is no success, else one of them.
Outcome worst(const sync::Answers& answers) {
  for (const auto& answer : answers) {
    if (answer->verdict != Verdict::kGranted) return *answer;
  }
  return *answers.front();
}

}  // namespace

LockGroup::LockGroup(std::shared_ptr<simulation::Client> client, simulation::Server& server,
                     OwnerNumber owner, Blame blame)
    : client_(std::move(client)),
      server_(server),
      owner_(owner),
      blame_(std::move(blame)),
      names_{LockName("a"), LockName("b"), LockName("c"), LockName("d"), LockName("e")} {}

Outcome LockGroup::on_all(const std::function<sync::ExchangePtr(const LockName&)>& call) const {
  FanOutCall::Plan plan{sync::multi_lock_rule(names_.size(), kLease),
                        {0, 1, 2, 3, 4},
                        [&](std::size_t member) { return call(names_[member]); },
                        {},
                        worst};
  const auto exchange =
      std::make_shared<FanOutCall>(client_->context(), names_.front(), std::move(plan));
  return *exchange->wait(nullptr);
}

Outcome LockGroup::acquire() {
  return on_all([this](const LockName& name) {
    const sync::AcquireArguments arguments{owner_, {kLease, true}};
    return simulation::acquire_call(client_->context(),
                                    {simulation::synchronizer(recipe_, name), arguments});
  });
}

Outcome LockGroup::release() {
  return on_all([this](const LockName& name) {
    return simulation::release_call(client_->context(), simulation::synchronizer(recipe_, name),
                                    {owner_});
  });
}

void LockGroup::run() {
  const Outcome granted = acquire();
  const bool held = std::all_of(names_.begin(), names_.end(),
                                [this](const LockName& name) { return on_server(name); });
  if (granted.verdict == Verdict::kGranted && !held && !client_->closed()) {
    blame_("the server does not know a grant of several locks");
  }
  if (release().verdict == Verdict::kGone) blame_("a lock that no other owner wants is lost");
}

bool LockGroup::left_behind() const {
  return std::any_of(names_.begin(), names_.end(), [this](const LockName& name) {
    return server_.data().find(name.text()) != nullptr;
  });
}

bool LockGroup::on_server(const LockName& name) const {
  const auto* const hash = server_.data().get<simulation::Hash>(name.text());
  const std::string field = owner_field(client_->plan().id, owner_);
  return hash != nullptr && simulation::field_of(*hash, field) != nullptr;
}

}  // namespace holdfast::interleavings
