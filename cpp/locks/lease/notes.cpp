#include "locks/lease/notes.h"

#include <algorithm>
#include <memory>

#include "locks/lease/hold.h"

namespace holdfast::lease {

bool Notes::introduce() {
  if (introduced_.exchange(true)) return false;
  const TimePoint now = book_.clock.now();
  Grant grant{LockName(key_of(book_.client_id)), next_owner_number(), 1, Lease{setup_.lease, true},
              now};
  grant.at = now;
  grant.renewal = setup_.renewal;
  grant.counted = false;
  attempts_.introduce(grant, setup_.about, setup_.all);
  return true;
}

client::RequestPtr Notes::say(const Said& said) {
  NoteRequest::What what;
  if (introduce()) what.about = setup_.about;
  what.lease = std::max(setup_.lease, said.lease);
  what.verb = NoteRequest::Verb::kSay;
  const MutexLock guard(book_.mutex);
  NoteBook& notes = book_.notes;
  if (!notes.key() || book_.closing) return nullptr;
  NoteRequest::Notes all;
  for (std::int64_t i = 0; i < said.amount; ++i) {
    const OwnerNumber owner = owner_after(said.owner, i);
    (void)notes.replace(said.name, owner);
    all.push_back({said.name, owner, said.purpose});
    Hold* const hold = book_.holds.hold(said.name, owner);
    if (hold == nullptr || !hold->held()) continue;
    what.verb = NoteRequest::Verb::kWrite;
    all.back().hold = HoldPtr(hold);
    all.back().keeps = !said.granted;
  }
  if (what.verb == NoteRequest::Verb::kSay) {
    what.by_text = notes.take_unknown_script();
    what.lives = notes.lives(book_.clock.now(), what.lease);
  }
  return request(std::move(all), std::move(what));
}

client::RequestPtr Notes::request(NoteRequest::Notes notes, NoteRequest::What what) const {
  return std::make_shared<NoteRequest>(book_.watchdog(), book_.notes.key(), std::move(notes),
                                       std::move(what),
                                       after(book_.clock.now(), setup_.command_timeout));
}

client::RequestPtr Notes::remove(const LockName& name, OwnerNumber owner, std::int64_t amount) {
  const MutexLock guard(book_.mutex);
  NoteBook& notes = book_.notes;
  if (!notes.key()) return nullptr;
  NoteRequest::Notes all;
  for (std::int64_t i = 0; i < amount; ++i) {
    const OwnerNumber each = owner_after(owner, i);
    const Hold* const hold = book_.holds.hold(name, each);
    if (hold == nullptr || !hold->held()) all.push_back({name, each});
  }
  if (all.empty()) return nullptr;
  return request(std::move(all), {});
}

}  // namespace holdfast::lease
