#include "locks/lease/notes.h"

#include <algorithm>
#include <memory>

#include "locks/lease/attempt.h"
#include "locks/lease/watchdog.h"

namespace holdfast::lease {

namespace {

client::RequestPtr request(Keeper& keeper, NoteRequest::Notes notes, NoteRequest::Writing writing,
                           Millis timeout) HOLDFAST_REQUIRES(keeper.mutex) {
  return std::make_shared<NoteRequest>(keeper.watchdog().weak(), keeper.note_book.key,
                                       std::move(notes), std::move(writing),
                                       after(keeper.clock.now(), timeout));
}

}  // namespace

bool Notes::keep_client_key() {
  if (keeps_client_key_.exchange(true)) return false;
  const TimePoint now = keeper_.clock.now();
  Grant grant{LockName(key_of(keeper_.client_id)), next_owner_number(), 1,
              Lease{setup_.lease, true}, now};
  grant.at = now;
  grant.renewal = setup_.renewal;
  grant.counted = false;
  grant.about = &setup_.about;
  Attempt attempt(keeper_, grant.name, grant.owner, Attempt::Kind::kAround);
  if (!attempt.granted(grant)) return true;
  const EntryLock entry(keeper_, grant.name, grant.owner);
  if (Hold* const key = entry.current()) {
    keeper_.note_book.key = HoldPtr(key);
    keeper_.note_book.all = setup_.all;
  }
  return true;
}

client::RequestPtr Notes::say(const Said& said) {
  NoteRequest::Writing writing;
  if (keep_client_key()) writing.about = setup_.about;
  writing.lease = std::max(setup_.lease, said.lease);
  writing.verb = NoteRequest::Verb::kSay;
  const MutexLock guard(keeper_.mutex);
  NoteBook& notes = keeper_.note_book;
  if (!notes.key || keeper_.closing) return nullptr;
  NoteRequest::Notes all;
  for (std::int64_t i = 0; i < said.amount; ++i) {
    const OwnerNumber owner = owner_after(said.owner, i);
    (void)notes.replace(said.name, owner);
    all.push_back({said.name, owner, said.purpose});
    Hold* const hold = keeper_.holds.held(said.name, owner);
    if (hold == nullptr) continue;
    writing.verb = NoteRequest::Verb::kWrite;
    all.back().hold = HoldPtr(hold);
    all.back().keeps = !said.granted;
  }
  if (writing.verb == NoteRequest::Verb::kSay) {
    writing.by_text = notes.take_unknown_script();
    writing.lives = notes.lives(keeper_.clock.now(), writing.lease);
  }
  return request(keeper_, std::move(all), std::move(writing), setup_.command_timeout);
}

client::RequestPtr Notes::remove(const LockName& name, OwnerNumber owner, std::int64_t amount) {
  const MutexLock guard(keeper_.mutex);
  NoteBook& notes = keeper_.note_book;
  if (!notes.key) return nullptr;
  NoteRequest::Notes all;
  for (std::int64_t i = 0; i < amount; ++i) {
    const OwnerNumber each = owner_after(owner, i);
    if (keeper_.holds.held(name, each) == nullptr) all.push_back({name, each});
  }
  if (all.empty()) return nullptr;
  return request(keeper_, std::move(all), {}, setup_.command_timeout);
}

}  // namespace holdfast::lease
