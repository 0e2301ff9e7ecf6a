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
  return purpose ? purpose->text() : std::string_view();
}

Millis age(const Note& note, TimePoint now) {
  if (!note.hold) return Millis(0);
  return std::chrono::duration_cast<Millis>(std::max(now - note.hold->since, Duration(0)));
}

constexpr resp::ReplyKinds kRemoved =
    resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, resp::ReplyKinds::kMost);

}  // namespace

NoteRequest::NoteRequest(std::weak_ptr<Watchdog> watchdog, HoldPtr key, Notes notes, What what,
                         TimePoint until)
    : watchdog_(std::move(watchdog)),
      key_(std::move(key)),
      notes_(std::move(notes)),
      what_(std::move(what)) {
  deferred = true;
  const bool by_text = what_.verb == Verb::kWrite || what_.by_text;
  sends_text = by_text ? SendsText::kAlways : SendsText::kNever;
  deadline = until;
}

resp::ReplyKinds NoteRequest::encode(std::string& out, bool by_text) const {
  if (what_.verb == Verb::kRemove || key_->sending.stopped()) return encode_removal(out);
  if (what_.verb == Verb::kSay) return encode_saying(out, by_text);
  const std::shared_ptr<Watchdog> watchdog = watchdog_.lock();
  if (!watchdog || (left() == 0 && !what_.within)) return encode_removal(out);
  return encode_writing(out, watchdog->now());
}

std::size_t NoteRequest::left() const {
  const auto stays = [this](const Note& note) { return !is_over(note); };
  return static_cast<std::size_t>(std::count_if(notes_.begin(), notes_.end(), stays));
}

resp::ReplyKinds NoteRequest::encode_saying(std::string& out, bool by_text) const {
  script::Writer writer(out, by_text);
  script::Call call = writer.call_with(script::lua::client_say, 1, 3 + 2 * notes_.size());
  call << key() << what_.lease.count() << std::string_view(what_.about);
  call << std::string_view(what_.lives ? "1" : "");
  for (const Note& note : notes_) {
    write_field(call, note);
    call << text_of(note.purpose);
  }
  return writer.replies();
}

resp::ReplyKinds NoteRequest::encode_writing(std::string& out, TimePoint now) const {
  constexpr std::size_t kEach = 4;
  script::Writer writer(out, true);
  script::Call call = writer.call_with(script::lua::client_note, 1, 2 + kEach * left());
  call << key() << what_.lease.count();
  call << std::string_view(what_.within ? std::to_string(what_.within->count()) : std::string());
  for (const Note& note : notes_) {
    if (is_over(note)) continue;
    write_field(call, note);
    call << age(note, now).count() << std::string_view(note.keeps ? "keep" : "set");
    call << text_of(note.purpose);
  }
  return writer.replies();
}

// Where no note is left, the command removes a field that is never there.
resp::ReplyKinds NoteRequest::encode_removal(std::string& out) const {
  std::vector<const Note*> removed;
  for (const Note& note : notes_) {
    if (what_.verb != Verb::kRemove || !is_over(note)) removed.push_back(&note);
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

void NoteBook::begin(HoldPtr key, bool all) {
  key_ = std::move(key);
  all_ = all;
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
  hold.extras().purpose = std::move(purpose);
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

bool NoteBook::replace_in_both(const LockName& name, OwnerNumber owner) {
  const bool soon = replace_in(soon_, name, owner);
  return replace_in(removed_, name, owner) || soon;
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
  if (!key_) return work;
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
    const Purpose purpose = hold->few() != nullptr ? hold->few()->purpose : Purpose();
    work.written.push_back({hold->name, hold->owner, purpose, hold, true});
  }
  if (all_ && !std::exchange(key_written_, true))
    work.within = left_out_ == 0 ? kWithin : Millis(0);
  return work;
}

TimePoint NoteBook::next() const {
  if (!key_) return kNever;
  const TimePoint removal = later_.empty() ? kNever : later_.begin()->first;
  return has_to_write() || !soon_.empty() ? std::min(removal, next_write_) : removal;
}

}  // namespace holdfast::lease
