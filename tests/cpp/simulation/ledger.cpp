#include "simulation/ledger.h"

#include <algorithm>
#include <utility>

#include "redis/resp/reply.h"
#include "simulation/redisson_steps.h"
#include "support/renewed_holds.h"

namespace holdfast::simulation {

namespace {

// How far the clocks of clients and server run apart while a waiter sleeps.
constexpr std::int64_t kClocksApart = 100;
// How much shorter a lease may become without a message (_read_write_lock/follow_readers), and the
// granularity of the server's clock, at the message and at the comparison.
constexpr std::int64_t kUntold = 10 + 2;
// How long a client believes in a lock without a time limit.
constexpr std::int64_t kNoTtl = 5000;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

const std::string& argument(const Words& command, std::size_t place) {
  return command[3 + std::stoul(command[2]) + place];
}
const std::string& owner_of(const Words& command) { return argument(command, 0); }
const std::string& next_of(const Words& command) { return argument(command, 1); }

// Of a reader's renewal; else 0.
std::int64_t renewed_lease(std::string_view script, const Words& command) {
  return ends_with(script, "read_renew") ? std::stoll(argument(command, 0)) : 0;
}

resp::Reply as_reply(const Answer& answer) {
  resp::Reader reader;
  const std::string bytes = answer.bytes();
  reader.feed(bytes.data(), bytes.size());
  return std::move(*reader.next().value());
}

}  // namespace

Ledger::Ledger(Server& server, const Kind& kind, std::optional<Violation>& violation)
    : server_(server), kind_(kind), violation_(violation) {
  server_.witness = this;
}

Ledger::~Ledger() { server_.witness = nullptr; }

void Ledger::watch(const std::string& name) {
  books_[name];
  kind_.set_up(server_.data(), name);
}

void Ledger::blame(const std::string& what) {
  if (!violation_) violation_ = Violation{what};
}

const Holders& Ledger::holders(const std::string& name) {
  Holders& holders = books_.at(name).holders;
  const std::int64_t now = server_.milliseconds();
  for (auto at = holders.begin(); at != holders.end();) {
    at = at->second.expires < now ? holders.erase(at) : std::next(at);
  }
  return holders;
}

bool Ledger::holds(const LockName& lock, const std::string& owner) {
  return holders(lock.text()).count(kind_.field(lock, owner)) != 0;
}

bool Ledger::met(Fate fate, const LockName& lock, const std::string& owner) const {
  const auto& ends = books_.at(lock.text()).ends;
  const auto found = ends.find(kind_.field(lock, owner));
  return found != ends.end() && found->second.fate == fate;
}

bool Ledger::cut_off(const LockName& lock, const std::string& owner) const {
  return books_.at(lock.text()).cuts.unforeseen(kind_.field(lock, owner));
}

Millis Ledger::gone_for(const LockName& lock, const std::string& owner) const {
  const Book& book = books_.at(lock.text());
  const std::string field = kind_.field(lock, owner);
  const auto found = book.ends.find(field);
  const std::int64_t at = found != book.ends.end() ? found->second.at : book.cuts.end(field);
  return Millis(server_.milliseconds() - at);
}

bool Ledger::open_to(const LockName& lock, const std::string& owner, const std::string& channel) {
  if (!kind_.admits(server_.data(), lock, owner)) return false;
  const auto& beliefs = books_.at(lock.text()).beliefs;
  const auto found = beliefs.find(channel);
  return found == beliefs.end() || server_.milliseconds() > found->second + kClocksApart;
}

void Ledger::executed(const script::Script& script, const Words& command, const Answer& answer) {
  const bool foreign_step = RedissonSteps::wrote(script.name);
  if (renews_batch(script.name) && !foreign_step) return renewed(script, command);
  const auto book = books_.find(kind_.name_of(command[3]));
  if (book == books_.end()) return;
  compare(*book, {script.name, command, kind_.fields(book->first, owner_of(command))});
  published_.clear();
  totals_.renewals += renews_batch(script.name) ? 1 : 0;
  if (foreign_step) return foreign(*book);
  const LockName lock(book->first, kind_.sides().front());
  if (ends_with(script.name, "transfer") && !answer.is(Answer::Kind::kError)) {
    minted(*book, next_of(command), kind_.recipe(lock).transferred(as_reply(answer)));
  }
  check_beliefs(*book, script.name);
  if (!ends_with(script.name, "acquire")) return;
  ++totals_.attempts;
  if (answer.is(Answer::Kind::kError)) return;
  const sync::Answer said = kind_.recipe(lock).acquired(as_reply(answer));
  minted(*book, owner_of(command), said);
  apply_reply(*book, owner_of(command), said);
}

// Each of its names, with all of the holds of the name.
void Ledger::renewed(const script::Script& script, const Words& command) {
  std::map<std::string, std::vector<std::string>> owned;
  for (const RenewedHold& hold : renewed_holds(command)) {
    const std::string name = kind_.name_of(hold.keys.front());
    for (std::string& field : kind_.fields(name, hold.owner)) owned[name].push_back(field);
    ++totals_.renewals;
  }
  for (auto& [name, fields] : owned) {
    const auto book = books_.find(name);
    if (book == books_.end()) continue;
    compare(*book, {script.name, command, std::move(fields)});
    check_beliefs(*book, script.name);
  }
  published_.clear();
}

// Each step may be a grant, of which waiters know the end.
void Ledger::foreign(Entry& entry) {
  ++totals_.grants;
  entry.second.unpublished = kind_.free_at(entry.second.holders);
}

void Ledger::minted(Entry& entry, const std::string& field, const sync::Answer& said) {
  if (!kind_.makes_tokens() || said.kind != sync::Answer::Kind::kGranted) return;
  auto& [name, book] = entry;
  const std::int64_t token = said.value.value_or(0);
  const bool grows = book.tokens.empty() || token > book.tokens.rbegin()->first;
  if (token <= 0 || !grows) blame(name + ": the token " + std::to_string(token) + " is not new");
  book.tokens.emplace(token, field);
}

bool Ledger::minted(const LockName& lock, const std::string& owner, std::int64_t token) const {
  const auto& tokens = books_.at(lock.text()).tokens;
  const auto found = tokens.find(token);
  return found != tokens.end() && found->second == kind_.field(lock, owner);
}

// Of those who hold now and did not before; false when there are none.
bool Ledger::forget_ends(Book& book, const Holders& before) {
  bool some = false;
  for (const auto& [field, hold] : book.holders) {
    if (before.count(field) != 0) continue;
    book.ends.erase(field);
    some = true;
  }
  return some;
}

// Explains what the script has changed.
void Ledger::compare(Entry& entry, const Step& step) {
  auto& [name, book] = entry;
  const auto& [script, command, owned] = step;
  const Holders before = holders(name);
  book.holders = kind_.holders(server_.data(), name);
  book.cuts.follow({script, owned, renewed_lease(script, command), server_.milliseconds()}, before,
                   book.holders);
  if (!kind_.may_share(book.holders)) blame(name + " has holders that exclude each other");
  if (!kind_.adds_up(server_.data(), name)) blame(name + " has more or less than there was");
  for (const auto& [field, hold] : before) {
    const bool ends_now = hold.expires == server_.milliseconds();
    const bool explained = ends_now && !ends_with(script, "force_release");
    if (book.holders.count(field) == 0 && !explained) gone(entry, field, step);
  }
  const bool granted = forget_ends(book, before);
  check_order(entry, before, script, command);
  if (ends_with(script, "transfer") && book.holders != before) ++totals_.grants;
  if (granted) pass_on(entry);
}

void Ledger::gone(Entry& entry, const std::string& field, const Step& step) {
  const bool forced = ends_with(step.script, "force_release");
  const Fate fate = forced ? Fate::kRemoved : Fate::kReleased;
  entry.second.ends[field] = {fate, server_.milliseconds()};
  const auto& owned = step.owned;
  if (forced || std::find(owned.begin(), owned.end(), field) != owned.end()) return;
  blame(std::string(step.script) + " by " + owner_of(step.command) + " has removed " + field);
}

// A new owner was the first in line; waiters keep their order, and no waiter loses its place by a
// command of another.
void Ledger::check_order(Entry& entry, const Holders& before, std::string_view script,
                         const Words& command) {
  auto& [name, book] = entry;
  const std::string text = std::string(script) + " by " + owner_of(command);
  const Line line = std::exchange(book.line, kind_.line(server_.data(), name));
  const std::string first = first_in(line, {});
  if (first_in(book.line, {}) != owner_of(command)) check_turn(entry, before, first, text);
  for (const auto& [field, hold] : book.holders) {
    const std::string next = before.count(field) != 0 ? field : first_in(line, field);
    if (next != field) blame(text + " lets " + field + " overtake " + next);
  }
  auto place = book.line.begin();
  for (const Place& one : line) {
    if (place != book.line.end() && place->owner == one.owner) {
      ++place;
    } else if (!dead(one) && one.owner != owner_of(command)) {
      blame(text + " takes the place of " + one.owner);
    }
  }
}

// A step that makes it a waiter's turn sends that waiter a message.
void Ledger::check_turn(Entry& entry, const Holders& before, const std::string& first,
                        const std::string& script) {
  const auto& [name, book] = entry;
  const std::string next = first_in(book.line, {});
  const bool changed = next != first || !before.empty();
  if (!book.holders.empty() || next.empty() || !changed) return;
  const LockName lock(name, kind_.sides().front());
  if (published_.count(kind_.recipe(lock).channel(lock, next)) == 0) {
    blame(script + " makes it the turn of " + next + ", and does not notify it");
  }
}

// The first in line that lives or is the newcomer; the newcomer if there is none.
std::string Ledger::first_in(const Line& line, const std::string& newcomer) const {
  const auto first = std::find_if(line.begin(), line.end(), [&](const Place& one) {
    return one.owner == newcomer || !dead(one);
  });
  return first == line.end() ? newcomer : first->owner;
}

// The waiters of a client pass on how long a grant lasts.
void Ledger::pass_on(Entry& entry) {
  const LockName lock(entry.first, kind_.sides().front());
  if (kind_.recipe(lock).traits.waiting == sync::Waiting::kInLine) return;
  const std::optional<std::int64_t> end = kind_.free_at(entry.second.holders);
  if (!end) return;
  std::int64_t& until = entry.second.beliefs[kind_.recipe(lock).channel(lock, {})];
  until = std::max(until, *end);
}

// A waiter that sleeps until the end of a lease gets a message when the lease becomes shorter. Not
// checked for waiters in line on the server: they also wait for each other.
void Ledger::check_beliefs(Entry& entry, std::string_view script) {
  const auto& [name, book] = entry;
  const LockName lock(name, kind_.sides().front());
  const std::optional<std::int64_t> end = kind_.free_at(book.holders);
  if (!end || kind_.recipe(lock).traits.waiting == sync::Waiting::kInLine) return;
  const auto belief = book.beliefs.find(kind_.recipe(lock).channel(lock, {}));
  if (belief == book.beliefs.end()) return;
  const bool known = book.unpublished && *end + kUntold >= *book.unpublished;
  if (!known && belief->second > *end + kUntold) {
    blame(std::string(script) + " makes the lease of " + name + " shorter, without a message");
  }
}

void Ledger::apply_reply(Entry& entry, const std::string& owner, const sync::Answer& said) {
  auto& [name, book] = entry;
  const LockName lock(name, kind_.sides().front());
  if (said.kind == sync::Answer::Kind::kGranted) ++totals_.grants;
  if (said.kind != sync::Answer::Kind::kHeld) return;
  const std::int64_t time = said.ttl.count() < 0 ? kNoTtl : said.ttl.count();
  std::int64_t& until = book.beliefs[kind_.recipe(lock).channel(lock, owner)];
  until = std::max(until, server_.milliseconds() + time);
}

void Ledger::published(const std::string& channel) {
  published_.insert(channel);
  for (auto& [name, book] : books_) book.beliefs.erase(channel);
}

void Ledger::forgot() {
  for (auto& [name, book] : books_) {
    for (const auto& [field, hold] : holders(name)) {
      book.ends[field] = {Fate::kRemoved, server_.milliseconds()};
    }
    book.holders.clear();
    book.line.clear();
    book.beliefs.clear();
    kind_.set_up(server_.data(), name);
  }
}

}  // namespace holdfast::simulation
