#include "locks/lease/note_book.h"

#include <algorithm>
#include <array>

#include "locks/lease/watchdog.h"
#include "lua_scripts.h"
#include "redis/base/digits.h"
#include "redis/client/request.h"
#include "redis/script/writer.h"

namespace holdfast::lease {

namespace {

void write_field(script::Call& call, const Note& note) {
  const auto number = static_cast<std::uint64_t>(note.owner);
  const std::string_view name = note.name.bytes();
  std::array<char, kMostDigits> digits;
  const std::size_t size =
      static_cast<std::size_t>(write_digits(digits.data(), number) - digits.data());
  char* to = std::copy_n(digits.data(), size, call.add(size + 1 + name.size()));
  *to++ = ':';
  std::copy(name.begin(), name.end(), to);
}

std::string_view text_of(const Purpose& purpose) {
  return purpose ? purpose->text : std::string_view();
}

constexpr resp::ReplyKinds kRemoved =
    resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, resp::ReplyKinds::kMost);

}  // namespace

NoteRequest::NoteRequest(std::weak_ptr<Watchdog> watchdog, HoldPtr key, Notes all, Writing how,
                         TimePoint until)
    : notes(std::move(all)),
      writing(std::move(how)),
      watchdog_(std::move(watchdog)),
      key_(std::move(key)) {
  deferred = true;
  const bool by_text = writing.verb == Verb::kWrite || writing.by_text;
  sends_text = by_text ? SendsText::kAlways : SendsText::kNever;
  deadline = until;
}

resp::ReplyKinds NoteRequest::encode(std::string& out, bool by_text) const {
  if (writing.verb == Verb::kRemove || key_->sending.stopped()) return encode_removal(out);
  if (writing.verb == Verb::kSay) {
    script::Writer writer(out, by_text);
    script::Call call = writer.call_with(script::lua::client_say, 1, 3 + 2 * notes.size());
    call << key() << writing.lease.count() << std::string_view(writing.about);
    call << std::string_view(writing.lives ? "1" : "");
    for (const Note& note : notes) {
      write_field(call, note);
      call << text_of(note.purpose);
    }
    return writer.replies();
  }
  const std::shared_ptr<Watchdog> watchdog = watchdog_.lock();
  const std::vector<const Note*> left = notes_left();
  if (!watchdog || (left.empty() && !writing.within)) return encode_removal(out);
  constexpr std::size_t kEach = 4;
  script::Writer writer(out, true);
  script::Call call = writer.call_with(script::lua::client_note, 1, 2 + kEach * left.size());
  call << key() << writing.lease.count();
  call << std::string_view(writing.within ? std::to_string(writing.within->count())
                                          : std::string());
  const TimePoint now = watchdog->now();
  for (const Note* const note : left) {
    const Duration age = note->hold ? std::max(now - note->hold->since, Duration(0)) : Duration(0);
    write_field(call, *note);
    call << std::chrono::duration_cast<Millis>(age).count();
    call << std::string_view(note->keeps ? "keep" : "set") << text_of(note->purpose);
  }
  return writer.replies();
}

// Asked once for each command: another thread may end a hold while the command is written, and the
// command says at its beginning how many it is about.
std::vector<const Note*> NoteRequest::notes_left() const {
  std::vector<const Note*> left;
  for (const Note& note : notes) {
    const bool over =
        note.replaced ? note.replaced->load() : note.hold && note.hold->sending.stopped();
    if (!over) left.push_back(&note);
  }
  return left;
}

// Where no note is left, the command removes a field that is never there.
resp::ReplyKinds NoteRequest::encode_removal(std::string& out) const {
  std::vector<const Note*> removed;
  if (writing.verb == Verb::kRemove) {
    removed = notes_left();
  } else {
    for (const Note& note : notes) removed.push_back(&note);
  }
  resp::append_count(out, '*', 2 + std::max<std::size_t>(removed.size(), 1));
  resp::append_bulk(out, "HDEL");
  script::Call call(out, {});
  call << key();
  for (const Note* const note : removed) write_field(call, *note);
  if (removed.empty()) call << std::string_view(":");
  return kRemoved;
}

void NoteRequest::complete(Result<resp::Reply> reply, const client::Sent& /*sent*/) {
  if (const auto watchdog = watchdog_.lock()) watchdog->noted(*this, reply);
}

void NoteBook::unsaid(const Note& note, Hold* hold) {
  script_unknown_ = true;
  if (hold != nullptr) {
    write_again(*hold);
  } else {
    unsaid_.push_back(note);
  }
}

void NoteBook::said(Hold& hold, Purpose purpose) {
  (void)take_noted(hold);
  hold.noted = Noted::kSaid;
  hold.ensure_extras().purpose = std::move(purpose);
  if (unsaid_.empty()) return;
  const auto its = [&hold](const Note& note) {
    return note.owner == hold.owner && note.name == hold.name;
  };
  if (std::any_of(unsaid_.begin(), unsaid_.end(), its)) write_again(hold);
}

void NoteBook::add(Hold& hold) {
  (void)replace(hold.name, hold.owner);
  if (written_ < kMost) {
    ++written_;
    hold.noted = Noted::kWritten;
    waiting_.emplace_back(&hold);
    return;
  }
  if (left_out_++ == 0) key_written_ = false;
  hold.noted = Noted::kLeftOut;
}

void NoteBook::write_again(Hold& hold) {
  if (hold.noted == Noted::kSaid || hold.noted == Noted::kWritten) waiting_.emplace_back(&hold);
}

bool NoteBook::take_noted(Hold& hold) {
  const Noted was = std::exchange(hold.noted, Noted::kNever);
  if (was == Noted::kWritten) --written_;
  if (was == Noted::kLeftOut && --left_out_ == 0) key_written_ = false;
  return was == Noted::kSaid || was == Noted::kWritten;
}

bool NoteBook::end_noted(Hold& hold, std::optional<TimePoint> at) {
  if (!take_noted(hold)) return false;
  if (at) {
    later_.emplace(*at, Note{hold.name, hold.owner});
  } else {
    remove(hold.name, hold.owner);
  }
  return true;
}

void NoteBook::remove(const LockName& name, OwnerNumber owner) {
  soon_.emplace(hash_of(name, owner), Note{name, owner});
}

bool NoteBook::replace_in(Removals& removals, const LockName& name, OwnerNumber owner) {
  auto [each, end] = removals.equal_range(hash_of(name, owner));
  bool found = false;
  while (each != end) {
    const Note& note = each->second;
    const bool same = note.owner == owner && note.name.bytes() == name.bytes();
    if (same && note.replaced) note.replaced->store(true);
    found = found || same;
    each = same ? removals.erase(each) : std::next(each);
  }
  return found;
}

void NoteBook::answered(const NoteRequest::Notes& notes, bool done) {
  for (const Note& note : notes) {
    const bool ours = note.replaced && !note.replaced->load();
    if (!ours) continue;
    (void)replace_in(removed_, note.name, note.owner);
    if (!done) remove(note.name, note.owner);
  }
}

NoteBook::Work NoteBook::work(TimePoint now) {
  Work work;
  if (!key) return work;
  const auto end = later_.upper_bound(now);
  for (auto each = later_.begin(); each != end; ++each) work.removed.push_back(each->second);
  later_.erase(later_.begin(), end);
  if ((!has_to_write() && soon_.empty()) || now < next_write_) return work;
  for (auto& [hash, note] : soon_) {
    note.replaced = std::make_shared<SharedAtomic<bool>>(false);
    work.removed.push_back(note);
  }
  removed_.merge(soon_);
  unsaid_.clear();
  next_write_ = after(now, kPeriod);
  for (const HoldPtr& hold : std::exchange(waiting_, {})) {
    const bool noted = hold->noted == Noted::kSaid || hold->noted == Noted::kWritten;
    if (!noted) continue;
    const Purpose purpose = hold->extras != nullptr ? hold->extras->purpose : Purpose();
    work.written.push_back({hold->name, hold->owner, purpose, hold, true});
  }
  if (all && !std::exchange(key_written_, true)) {
    work.within = left_out_ == 0 ? kWithin : Millis(0);
  }
  return work;
}

TimePoint NoteBook::next() const {
  if (!key) return kNever;
  const TimePoint removal = later_.empty() ? kNever : later_.begin()->first;
  return has_to_write() || !soon_.empty() ? std::min(removal, next_write_) : removal;
}

}  // namespace holdfast::lease
