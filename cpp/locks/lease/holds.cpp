#include "locks/lease/holds.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace holdfast::lease {

namespace {

// A program that takes ever new names, lets their leases run out, and never asks for their end,
// would leave them all here.
constexpr std::size_t kMostKept = 10'000;

}  // namespace

Holds::~Holds() {
  tracked.clear();
  for (const Entry* const entry : all()) delete entry;
}

Holds::Entry* Holds::find(const LockName& name, OwnerNumber owner) const {
  Entry* const* const found = entries_.find(hash_of(name, owner), [&](const Entry* entry) {
    return entry->owner == owner && entry->name == name;
  });
  return found == nullptr ? nullptr : *found;
}

Holds::Entry& Holds::at(const LockName& name, OwnerNumber owner) {
  if (Entry* const found = find(name, owner)) return *found;
  auto* const entry = new Entry(name, owner);
  entries_.add(hash_of(name, owner), entry);
  put(*entry, owners_, static_cast<std::size_t>(owner), &Entry::by_owner_);
  put(*entry, names_, name.hash(), &Entry::by_name_);
  return *entry;
}

void Holds::put(Entry& entry, Lists& lists, std::size_t number, Where where) {
  Entry*& first = lists[number % kLists];
  entry.*where = {first, &first};
  if (first != nullptr) (first->*where).link = &(entry.*where).next;
  first = &entry;
}

void Holds::remove(Entry& entry, Where where) {
  const Entry::Place place = entry.*where;
  *place.link = place.next;
  if (place.next != nullptr) (place.next->*where).link = place.link;
}

Hold* Holds::hold(const LockName& name, OwnerNumber owner) const {
  const Entry* const entry = find(name, owner);
  return entry == nullptr ? nullptr : entry->current();
}

std::vector<Holds::Entry*> Holds::of(OwnerNumber owner) const {
  std::vector<Entry*> entries;
  Entry* each = owners_[static_cast<std::size_t>(owner) % kLists];
  for (; each != nullptr; each = each->by_owner_.next) {
    if (each->owner == owner) entries.push_back(each);
  }
  return entries;
}

std::vector<Holds::Entry*> Holds::named(std::string_view name) const {
  std::vector<Entry*> entries;
  Entry* each = names_[std::hash<std::string_view>()(name) % kLists];
  for (; each != nullptr; each = each->by_name_.next) {
    if (each->name.bytes() == name) entries.push_back(each);
  }
  return entries;
}

std::vector<Holds::Entry*> Holds::all() const {
  std::vector<Entry*> entries;
  entries.reserve(size());
  entries_.each([&](Entry* entry) { entries.push_back(entry); });
  return entries;
}

void Holds::tidy(Entry& entry) {
  if (entry.hold || entry.attempts > 0 || entry.release != ReleaseState::kNone) return;
  entries_.erase(entries_.find(hash_of(entry.name, entry.owner),
                               [&](const Entry* other) { return other == &entry; }));
  remove(entry, &Entry::by_owner_);
  remove(entry, &Entry::by_name_);
  delete &entry;
}

Hold& Holds::grant(Entry& entry, HoldPtr hold) {
  if (entry.hold) end(entry);
  forget_old();
  hold->serial = ++numbers_;
  ++grants_;
  entry.hold = std::move(hold);
  return *entry.hold;
}

void Holds::lose(Hold& hold) {
  tracked.remove(hold);
  hold.state = HoldState::kLost;
  kept_.push_back({hold.name, hold.owner, hold.serial});
}

void Holds::put_back(Entry& entry, HoldPtr lost) {
  forget_old();
  entry.hold = std::move(lost);
}

void Holds::end(Entry& entry) {
  const HoldPtr hold = std::move(entry.hold);
  tracked.remove(*hold);
  hold->stop_renewing();
  hold->serial = 0;
}

void Holds::revoke(Entry& entry) {
  if (!entry.command) return;
  entry.command->revoke();
  // A release without a caller need not be sent when another one does its work.
  if (entry.command->persistent) entry.command->abandon();
  entry.command.reset();
}

void Holds::open(Entry& entry, Command command, TimePoint until) {
  revoke(entry);
  entry.until = entry.release == ReleaseState::kNone ? until : std::max(entry.until, until);
  set_release(entry, ReleaseState::kOpen);
  entry.command = std::move(command);
}

bool Holds::take_over(Entry& entry) {
  if (entry.release == ReleaseState::kNone || entry.release == ReleaseState::kReleased)
    return false;
  revoke(entry);
  set_release(entry, ReleaseState::kTakenOver);
  return true;
}

void Holds::keep(Entry& entry, ReleaseState state) {
  entry.command.reset();
  set_release(entry, state);
  entry.end = ++numbers_;
  kept_.push_back({entry.name, entry.owner, entry.end});
  forget_old();
}

void Holds::drop(Entry& entry) {
  revoke(entry);
  (void)settle(entry);
}

void Holds::end_owner(Entry& entry) {
  if (entry.caller != Caller::kLeft) (void)take_leaving(entry);
  if (!entry.pending()) (void)settle(entry);
}

bool Holds::close(Entry& entry) {
  const bool may_be_there =
      entry.release != ReleaseState::kNone && entry.release != ReleaseState::kReleased;
  (void)settle(entry);
  return may_be_there;
}

void Holds::forget_old() {
  while (kept_.size() > kMostKept) {
    const Kept oldest = std::move(kept_.front());
    kept_.pop_front();
    Entry* const entry = find(oldest.name, oldest.owner);
    if (entry == nullptr) continue;
    const Hold* const hold = entry->current();
    const bool is_lost = hold != nullptr && hold->serial == oldest.number;
    if (!is_lost && entry->end != oldest.number) continue;  // it may be in use
    if (is_lost) {
      end(*entry);
    } else {
      (void)settle(*entry);
    }
    tidy(*entry);
  }
}

}  // namespace holdfast::lease
