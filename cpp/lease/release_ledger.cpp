#include "lease/release_ledger.h"

#include <algorithm>
#include <utility>

namespace holdfast::lease {

namespace {
constexpr std::size_t kMostReported = 10'000;
}  // namespace

ReleaseLedger::Entries::iterator ReleaseLedger::at(const LockName& name, OwnerNumber owner) {
  if (entries_.empty()) return entries_.end();
  auto [entry, end] = entries_.equal_range(owner);
  while (entry != end && !(entry->second.name == name)) ++entry;
  return entry == end ? entries_.end() : entry;
}

ReleaseLedger::Entry* ReleaseLedger::find(const LockName& name, OwnerNumber owner) {
  const auto found = at(name, owner);
  return found == entries_.end() ? nullptr : &found->second;
}

const ReleaseLedger::Entry* ReleaseLedger::find(const LockName& name, OwnerNumber owner) const {
  return const_cast<ReleaseLedger*>(this)->find(name, owner);
}

ReleaseLedger::Entry* ReleaseLedger::open_at(const LockName& name, OwnerNumber owner,
                                             Serial serial) {
  Entry* entry = find(name, owner);
  return entry != nullptr && entry->serial == serial && entry->state == State::kOpen ? entry
                                                                                     : nullptr;
}

void ReleaseLedger::revoke(Entry& entry) {
  if (!entry.command) return;
  entry.command->revoke();
  // A release without a caller need not be sent when another one does its work.
  if (entry.command->persistent) entry.command->abandon();
  entry.command.reset();
}

void ReleaseLedger::set_state(Entry& entry, State state) {
  pending_ += counts(state) ? 1 : 0;
  pending_ -= counts(entry.state) ? 1 : 0;
  entry.state = state;
}

void ReleaseLedger::erase(Entries::iterator entry) {
  if (counts(entry->second.state)) --pending_;
  entries_.erase(entry);
}

ReleaseLedger::Entry& ReleaseLedger::open(OwnerNumber owner, Entry fresh) {
  auto found = at(fresh.name, owner);
  fresh.serial = ++serials_;
  fresh.state = State::kOpen;
  if (found == entries_.end()) {
    ++pending_;
    return entries_.emplace(owner, std::move(fresh))->second;
  }
  Entry& entry = found->second;
  revoke(entry);
  set_state(entry, State::kOpen);
  entry.serial = fresh.serial;
  entry.command = std::move(fresh.command);
  entry.until = std::max(entry.until, fresh.until);
  entry.trusted = std::max(entry.trusted, fresh.trusted);
  if (fresh.hold) {
    entry.hold = std::move(fresh.hold);
    entry.caller = fresh.caller;
  }
  return entry;
}

bool ReleaseLedger::resume(const LockName& name, OwnerNumber owner, Serial serial,
                           Command command) {
  Entry* entry = open_at(name, owner, serial);
  if (entry == nullptr) return false;
  if (entry->command) entry->command->revoke();
  entry->command = std::move(command);
  return true;
}

bool ReleaseLedger::take_over(const LockName& name, OwnerNumber owner) {
  Entry* entry = find(name, owner);
  if (entry == nullptr || entry->state == State::kReleased) return false;
  revoke(*entry);
  set_state(*entry, State::kTakenOver);
  entry->serial = ++serials_;
  return true;
}

void ReleaseLedger::settle_attempt(const LockName& name, OwnerNumber owner) {
  const auto found = at(name, owner);
  if (found != entries_.end() && found->second.state == State::kTakenOver) erase(found);
}

ReleaseLedger::Entry ReleaseLedger::settle(const LockName& name, OwnerNumber owner, Serial serial) {
  Entry settled{LockName{""}};
  const auto found = at(name, owner);
  if (found == entries_.end() || found->second.serial != serial) return settled;
  settled = std::move(found->second);
  erase(found);
  return settled;
}

void ReleaseLedger::keep(const LockName& name, OwnerNumber owner, Serial serial, State state) {
  Entry* entry = open_at(name, owner, serial);
  if (entry == nullptr) return;
  entry->command.reset();
  set_state(*entry, state);
  reported_.push_back({owner, name, serial});
  forget_old();
}

// A program that takes ever new names, and never asks for their end, would leave them all here.
void ReleaseLedger::forget_old() {
  while (reported_.size() > kMostReported) {
    const Reported& oldest = reported_.front();
    const auto found = at(oldest.name, oldest.owner);
    if (found != entries_.end() && found->second.serial == oldest.serial) erase(found);
    reported_.pop_front();
  }
}

void ReleaseLedger::drop(const LockName& name, OwnerNumber owner) {
  const auto found = at(name, owner);
  if (found == entries_.end()) return;
  revoke(found->second);
  erase(found);
}

void ReleaseLedger::owner_ended(OwnerNumber owner) {
  auto [entry, end] = entries_.equal_range(owner);
  while (entry != end) {
    if (entry->second.caller != Caller::kLeft) entry->second.hold.reset();
    entry = counts(entry->second.state) ? std::next(entry) : entries_.erase(entry);
  }
}

std::vector<std::string> ReleaseLedger::names() const {
  std::vector<std::string> all;
  for (const auto& [owner, entry] : entries_) {
    if (entry.state != State::kReleased) all.push_back(entry.name.text());
  }
  return all;
}

void ReleaseLedger::clear() {
  entries_.clear();
  reported_.clear();
  pending_ = 0;
}

}  // namespace holdfast::lease
