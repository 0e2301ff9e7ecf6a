#include "lease/release_ledger.h"

#include <algorithm>
#include <utility>

namespace holdfast::lease {

namespace {
constexpr std::size_t kMostTold = 10'000;
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

ReleaseLedger::Entry* ReleaseLedger::open_at(const LockName& name, OwnerNumber owner, Turn turn) {
  Entry* entry = find(name, owner);
  return entry != nullptr && entry->turn == turn && entry->state == State::kOpen ? entry : nullptr;
}

void ReleaseLedger::revoke(Entry& entry) {
  if (!entry.carrier) return;
  entry.carrier->revoke();
  // A release without a caller need not be sent when another one does its work.
  if (entry.carrier->persistent) entry.carrier->abandon();
  entry.carrier.reset();
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
  fresh.turn = ++turns_;
  fresh.state = State::kOpen;
  if (found == entries_.end()) {
    ++pending_;
    return entries_.emplace(owner, std::move(fresh))->second;
  }
  Entry& entry = found->second;
  revoke(entry);
  set_state(entry, State::kOpen);
  entry.turn = fresh.turn;
  entry.carrier = std::move(fresh.carrier);
  entry.until = std::max(entry.until, fresh.until);
  entry.trusted = std::max(entry.trusted, fresh.trusted);
  if (fresh.hold) {
    entry.hold = std::move(fresh.hold);
    entry.caller = fresh.caller;
  }
  return entry;
}

bool ReleaseLedger::carry_on(const LockName& name, OwnerNumber owner, Turn turn, Carrier carrier) {
  Entry* entry = open_at(name, owner, turn);
  if (entry == nullptr) return false;
  if (entry->carrier) entry->carrier->revoke();
  entry->carrier = std::move(carrier);
  return true;
}

bool ReleaseLedger::take_over(const LockName& name, OwnerNumber owner) {
  Entry* entry = find(name, owner);
  if (entry == nullptr || entry->state == State::kReleased) return false;
  revoke(*entry);
  set_state(*entry, State::kTakenOver);
  entry->turn = ++turns_;
  return true;
}

void ReleaseLedger::settle_attempt(const LockName& name, OwnerNumber owner) {
  const auto found = at(name, owner);
  if (found != entries_.end() && found->second.state == State::kTakenOver) erase(found);
}

ReleaseLedger::Entry ReleaseLedger::settle(const LockName& name, OwnerNumber owner, Turn turn) {
  Entry settled{LockName{{}}};
  const auto found = at(name, owner);
  if (found == entries_.end() || found->second.turn != turn) return settled;
  settled = std::move(found->second);
  erase(found);
  return settled;
}

void ReleaseLedger::keep(const LockName& name, OwnerNumber owner, Turn turn, State state) {
  Entry* entry = open_at(name, owner, turn);
  if (entry == nullptr) return;
  entry->carrier.reset();
  set_state(*entry, state);
  told_.push_back({owner, name, turn});
  forget_old();
}

// A program that takes ever new names, and never asks for their end, would leave them all here.
void ReleaseLedger::forget_old() {
  while (told_.size() > kMostTold) {
    const Told& oldest = told_.front();
    const auto found = at(oldest.name, oldest.owner);
    if (found != entries_.end() && found->second.turn == oldest.turn) erase(found);
    told_.pop_front();
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
    if (entry.state != State::kReleased) all.push_back(entry.name.bytes());
  }
  return all;
}

void ReleaseLedger::clear() {
  entries_.clear();
  told_.clear();
  pending_ = 0;
}

}  // namespace holdfast::lease
