#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "locks/lease/hold.h"
#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/client/request.h"

namespace holdfast::lease {

class Watchdog;

// The entry of an owner of a name in the client's key: since when it holds it, or waits for it, and
// for what.
struct Note {
  LockName name;
  OwnerNumber owner;
  Purpose purpose{};
  HoldPtr hold{};      // null: it holds nothing yet, and the moment of the writing counts
  bool keeps = false;  // the time that the key has already
  // Set for a removal: whether the owner has another note by now.
  std::shared_ptr<SharedAtomic<bool>> replaced{};
};

// A command about notes in the client's key. No caller waits for it. It writes no note of a hold
// that has ended by the time when it goes out, and nothing of a client whose key is being removed:
// what removes these goes the same way, behind it. For the same reason its script's text never goes
// there later than the command.
class NoteRequest final : public client::Request {
 public:
  using Notes = std::vector<Note>;
  enum class Verb : std::uint8_t {
    kSay,    // notes of owners that are about to acquire
    kWrite,  // notes of holds
    kRemove,
  };
  struct Writing {
    Verb verb = Verb::kRemove;
    Millis lease{0};                 // that the key lives for, at least
    std::string about{};             // kSay: see lua/client/say.lua
    bool by_text = false;            // kSay: the server may not know the script
    bool lives = false;              // kSay: see there
    std::optional<Millis> within{};  // kWrite: see NoteBook; nothing: as it is
  };

  NoteRequest(std::weak_ptr<Watchdog> watchdog, HoldPtr key, Notes all, Writing how,
              TimePoint until);

  std::string_view key() const override { return key_->name.bytes(); }
  std::string_view subject() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

  const Notes notes;
  const Writing writing;

 private:
  resp::ReplyKinds encode_removal(std::string& out) const;
  std::vector<const Note*> notes_left() const;

  const std::weak_ptr<Watchdog> watchdog_;
  const HoldPtr key_;
};

// Which notes the key of one client has, and which it is still to get, or to lose. A hold with a
// purpose gets its note with its acquire. Where the client has a label, the watchdog notes the
// others once they have lasted for kPeriod, with one command in each kPeriod: the key then says
// within which time a hold gets its note, so that one without a note is younger. A machine without
// I/O and without a clock. Not thread-safe: see Keeper.
class NoteBook {
 public:
  static constexpr Millis kPeriod{1000};
  // A hold is noted then at the latest.
  static constexpr Millis kWithin = 2 * kPeriod;
  // How many notes the watchdog writes. Holds above that get none, and the key says so.
  static constexpr std::size_t kMost = 10'000;

  // The client's key, once it is kept; null before.
  HoldPtr key;
  // Every hold is noted once it has lasted.
  bool all = false;

  // Whether what is said next needs the script's text.
  bool take_unknown_script() { return std::exchange(script_unknown_, false); }
  // The server has refused to note it, and may not know the script: of those that hold, or will at
  // once, it is written.
  void unsaid(const Note& note, Hold* hold);
  // The hold, whose acquire has said what it is for.
  void said(Hold& hold, Purpose purpose);
  // When the hold is to be noted; kNever: it is, or need not be.
  static TimePoint due(const Hold& hold) {
    return hold.noted == Noted::kDue ? after(hold.since, kPeriod) : kNever;
  }
  void add(Hold& hold);
  // The lease of a noted hold was set anew, for which the key has to live.
  void write_again(Hold& hold);
  // Whether it says what is so of kWithin is not known any more.
  void key_unwritten() {
    key_written_ = false;
    lives_until_ = {};
  }
  // Whether the key lives for two thirds of that time, as one that is renewed does; if not, what is
  // sent now has it live for all of it.
  bool lives(TimePoint now, Millis lease) {
    if (after(now, lease - lease / 3) <= lives_until_) return true;
    lives_until_ = after(now, lease);
    return false;
  }
  // The key has been made again, without its notes.
  template <typename Entries>
  void key_made(const Entries& entries) {
    key_unwritten();
    for (const auto* const entry : entries) {
      if (entry->hold && entry->hold->held()) write_again(*entry->hold);
    }
  }
  // The note of an owner that holds the name no more: as that of a hold that ends.
  void remove(const LockName& name, OwnerNumber owner);
  // A hold ends. The note of an owner that holds the name no more is removed with the next command,
  // and at kPeriod at the latest, unless the owner gets another one before, which spares both; of
  // an owner that has ended, at that time. False: the key has none.
  bool end(Hold& hold, std::optional<TimePoint> at = {}) {
    return hold.noted != Noted::kNever && end_noted(hold, at);
  }
  // The owner gets another note now. Whether one was to be removed.
  bool replace(const LockName& name, OwnerNumber owner) {
    if (soon_.empty() && removed_.empty()) return false;
    const bool soon = replace_in(soon_, name, owner);
    return replace_in(removed_, name, owner) || soon;
  }
  // A command that removes notes has its answer; `done`: else it is sent again.
  void answered(const NoteRequest::Notes& notes, bool done);

  // The notes to be sent now, and when there will be some again.
  struct Work {
    NoteRequest::Notes written{};
    NoteRequest::Notes removed{};
    std::optional<Millis> within{};
    bool writes() const { return !written.empty() || within; }
  };
  Work work(TimePoint now);
  TimePoint next() const;

 private:
  using Removals = std::unordered_multimap<std::uint64_t, Note>;

  bool end_noted(Hold& hold, std::optional<TimePoint> at);
  bool take_noted(Hold& hold);
  static bool replace_in(Removals& removals, const LockName& name, OwnerNumber owner);
  bool has_to_write() const { return !waiting_.empty() || (all && !key_written_); }

  std::vector<HoldPtr> waiting_;  // to be written with the next command
  TimePoint next_write_{};
  TimePoint lives_until_{};  // the key, at least
  Removals soon_;            // with the next command
  Removals removed_;         // by commands that have no answer yet
  std::multimap<TimePoint, Note> later_;
  std::size_t written_ = 0;  // by the watchdog
  std::size_t left_out_ = 0;
  bool key_written_ = false;  // it says what is so of kWithin
  bool script_unknown_ = true;
  NoteRequest::Notes unsaid_;  // notes of owners that may have got their grants since
};

}  // namespace holdfast::lease
