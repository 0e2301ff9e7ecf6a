#include "support/server.h"

#include <algorithm>
#include <tuple>

#include "lua_scripts.h"

namespace holdfast::simulation {

namespace {

namespace lua = script::lua;

const std::string kNil = "$-1\r\n";
const std::string kFullMemory = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

std::string integer(std::int64_t value) { return ":" + std::to_string(value) + "\r\n"; }

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::int64_t number(const std::string& text) { return std::stoll(text); }

bool is_watchdog(const Wire& wire) { return wire.owner().find("/renewals") != std::string::npos; }

}  // namespace

Server::Server(World& world, std::int64_t drift) : world_(world), drift_(drift) {}

std::int64_t Server::milliseconds() const {
  const std::int64_t nanoseconds = (world_.now() - TimePoint(std::chrono::hours(1))).count();
  return (nanoseconds + nanoseconds / 1'000'000 * drift_) / 1'000'000;
}

void Server::arrived(const std::shared_ptr<Wire>& wire, std::vector<Command> commands) {
  inbox_.emplace_back(wire, std::move(commands));
  wake();
}

void Server::wake() {
  while (up_ && world_.now() >= paused_until_ && !inbox_.empty()) {
    const auto [wire, commands] = std::move(inbox_.front());
    inbox_.pop_front();
    std::string replies;
    for (const Command& command : commands) {
      replies += run(wire, command);
      if (world_.tracing) describe(*wire, command, replies);
    }
    wire->reply(std::move(replies));
  }
}

void Server::describe(const Wire& wire, const Command& command, const std::string& replies) {
  std::string words;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    words += ' ';
    const std::string_view script = script_name(command.words[i]);
    words += script.empty() ? std::string_view(command.words[i]) : script;
  }
  const std::size_t last = replies.rfind("\r\n", replies.size() - 3);
  world_.say("server, wire ", std::to_string(wire.number()), ":", words, " -> ",
             last == std::string::npos ? replies.substr(0, replies.size() - 2)
                                       : replies.substr(last + 2, replies.size() - last - 4));
}

std::string Server::run(const std::shared_ptr<Wire>& wire, const Command& command) {
  const std::string& word = command.words[0];
  if (word == "SUBSCRIBE" || word == "UNSUBSCRIBE") return subscribe(wire, command);
  if (mood_ == Mood::kLoading) return "-LOADING Redis is loading the dataset in memory\r\n";
  if (word == "EVAL" || word == "EVALSHA") return run_script(command);
  if (word == "SCRIPT") {
    scripts_.insert(std::string(script_name(command.words[2])));
    return bulk("its SHA1");
  }
  return answer(command);
}

std::string Server::answer(const Command& command) {
  const std::string& word = command.words[0];
  const Key* found = key(command.words[1]);
  if (word == "HLEN") return integer(found == nullptr ? 0 : 1);
  const std::int64_t holds = count(command.words[1], command.words[2]);
  if (word == "HEXISTS") return integer(holds > 0 ? 1 : 0);
  if (word == "HGET") return holds > 0 ? bulk(std::to_string(holds)) : kNil;
  return "-ERR unknown command\r\n";
}

std::string Server::subscribe(const std::shared_ptr<Wire>& wire, const Command& command) {
  const bool on = command.words[0] == "SUBSCRIBE";
  const std::string& channel = command.words[1];
  if (on) {
    ++totals_.subscriptions;
    wire->channels.insert(channel);
    if (std::find(subscribers_.begin(), subscribers_.end(), wire) == subscribers_.end()) {
      subscribers_.push_back(wire);
    }
  } else {
    wire->channels.erase(channel);
  }
  return "*3\r\n" + bulk(on ? "subscribe" : "unsubscribe") + bulk(channel) +
         integer(static_cast<std::int64_t>(wire->channels.size()));
}

std::string_view Server::script_name(const std::string& sha1_or_text) {
  for (const script::Script* script :
       {&lua::lock_acquire, &lua::lock_release, &lua::lock_transfer, &lua::lock_renew,
        &lua::lock_extend, &lua::lock_force_release, &lua::lock_ttl}) {
    if (sha1_or_text == script->sha1 || sha1_or_text == script->text) return script->name;
  }
  return {};
}

Server::Step Server::step_of(std::string_view name) {
  if (name == lua::lock_acquire.name) return &Server::acquire;
  if (name == lua::lock_release.name) return &Server::release;
  if (name == lua::lock_transfer.name) return &Server::transfer;
  if (name == lua::lock_renew.name) return &Server::renew;
  if (name == lua::lock_extend.name) return &Server::extend;
  if (name == lua::lock_force_release.name) return &Server::force_release;
  if (name == lua::lock_ttl.name) return &Server::ttl;
  return nullptr;
}

std::string Server::run_script(const Command& command) {
  const std::string_view name = script_name(command.words[1]);
  const Step step = step_of(name);
  if (step == nullptr) return "-ERR the double does not know this script\r\n";
  if (command.words[0] == "EVAL") {
    scripts_.insert(std::string(name));
  } else if (scripts_.count(std::string(name)) == 0) {
    return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
  }
  return (this->*step)(Parameters(command.words.begin() + 3, command.words.end()));
}

void Server::watch_departure(const Wire& wire, const Command& command) {
  if (!on_renewal || !is_watchdog(wire) || command.words[0].substr(0, 4) != "EVAL") return;
  const std::string& owner = wire.owner();
  on_renewal(owner.substr(0, owner.find('/')), command.words[3], command.words[4]);
}

Server::Key* Server::key(const std::string& name) {
  const auto found = keys_.find(name);
  if (found == keys_.end()) return nullptr;
  if (milliseconds() <= found->second.expires) return &found->second;
  silently_free_[name] = std::max(silently_free_[name], found->second.promised);
  keys_.erase(found);
  return nullptr;
}

void Server::expire(Key& key, const std::string& lease) {
  key.expires = milliseconds() + number(lease);
  key.promised = std::max(key.promised, key.expires);
}

void Server::remove(const std::string& name, bool by_fault) {
  const Key* found = key(name);
  if (found == nullptr) return;
  for (const auto& [owner, count] : found->holds) {
    if (by_fault) removed_.insert({name, owner});
  }
  keys_.erase(name);
}

void Server::grant(const std::string& name, const std::string& owner, std::int64_t count) {
  Key& granted = keys_[name];
  if (granted.holds.count(owner) == 0) {
    removed_.erase({name, owner});
    released_.erase({name, owner});
  }
  granted.holds[owner] = count;
  const auto believed = silently_free_.find(name);
  if (believed != silently_free_.end()) {
    granted.promised = std::max(granted.promised, believed->second);
    silently_free_.erase(believed);
  }
  ++totals_.grants;
}

std::string Server::acquire(const Parameters& p) {
  const auto& [name, owner, lease, count] = std::tie(p[0], p[1], p[2], p[3]);
  ++totals_.attempts;
  Key* found = key(name);
  const std::int64_t left = found == nullptr ? -2 : found->expires - milliseconds();
  if (found == nullptr || found->holds.count(owner) == 0) {
    if (count != "1") return integer(-3);
    if (found != nullptr) return integer(left);
  }
  if (mood_ == Mood::kFull) return kFullMemory;
  grant(name, owner, number(count));
  if (left < number(lease)) expire(keys_[name], lease);
  return kNil;
}

std::string Server::release(const Parameters& p) {
  const auto& [name, channel, owner, count] = std::tie(p[0], p[1], p[2], p[3]);
  Key* found = key(name);
  if (found == nullptr || found->holds.count(owner) == 0) return kNil;
  if (count != "0") {
    if (mood_ == Mood::kFull) return kFullMemory;
    found->holds[owner] = number(count);
    return integer(0);
  }
  remove(name, false);
  released_.insert({name, owner});
  return integer(1 + publish(name, channel));
}

std::string Server::transfer(const Parameters& p) {
  const auto& [name, channel, owner, heir, lease] = std::tie(p[0], p[1], p[2], p[3], p[4]);
  Key* found = key(name);
  if (found != nullptr && found->holds.count(owner) != 0) {
    if (mood_ == Mood::kFull) return kFullMemory;
    found->holds.erase(owner);
    released_.insert({name, owner});
    grant(name, heir, 1);
  } else if (found == nullptr || found->holds.count(heir) == 0) {
    return kNil;
  }
  set_lease(name, channel, lease);
  return integer(1);
}

void Server::set_lease(const std::string& name, const std::string& channel,
                       const std::string& lease) {
  Key& key = keys_.at(name);
  const bool shrinks = key.expires > milliseconds() + number(lease);
  expire(key, lease);
  if (shrinks) publish(name, channel);
}

std::string Server::renew(const Parameters& p) {
  ++totals_.renewals;
  Key* found = key(p[0]);
  if (found == nullptr || found->holds.count(p[1]) == 0) return integer(0);
  if (found->expires < milliseconds() + number(p[2])) expire(*found, p[2]);
  return integer(1);
}

std::string Server::extend(const Parameters& p) {
  Key* found = key(p[0]);
  if (found == nullptr || found->holds.count(p[2]) == 0) return integer(0);
  set_lease(p[0], p[1], p[3]);
  return integer(1);
}

std::string Server::force_release(const Parameters& p) {
  if (key(p[0]) == nullptr) return integer(0);
  remove(p[0], true);
  publish(p[0], p[1]);
  return integer(1);
}

std::string Server::ttl(const Parameters& p) {
  const Key* found = key(p[0]);
  return integer(found == nullptr ? -2 : found->expires - milliseconds());
}

// Returns how many were told.
std::int64_t Server::publish(const std::string& name, const std::string& channel) {
  silently_free_.erase(name);
  ++totals_.messages;
  const auto closed = [](const auto& wire) { return !wire->open_at_server(); };
  subscribers_.erase(std::remove_if(subscribers_.begin(), subscribers_.end(), closed),
                     subscribers_.end());
  std::int64_t told = 0;
  for (const auto& wire : subscribers_) {
    if (wire->channels.count(channel) == 0) continue;
    wire->reply("*3\r\n" + bulk("message") + bulk(channel) + bulk("0"));
    ++told;
  }
  return told;
}

void Server::pause(Duration time) {
  paused_until_ = std::max(paused_until_, world_.now() + time);
  world_.at(paused_until_, [this] { wake(); });
}

void Server::restart(bool with_data, Duration down,
                     const std::vector<std::shared_ptr<Wire>>& wires) {
  up_ = false;
  inbox_.clear();
  subscribers_.clear();
  flush_scripts();
  for (const auto& wire : wires) wire->cut(false);
  inbox_.clear();
  if (!with_data) {
    flush_data();
    silently_free_.clear();  // their connections are broken: they look anew
  }
  world_.in(down, [this] { up_ = true; });
}

void Server::flush_data() {
  while (!keys_.empty()) {
    const auto& [name, lock] = *keys_.begin();
    silently_free_[name] = lock.promised;
    const std::string gone = name;
    if (key(gone) != nullptr) remove(gone, true);
  }
}

bool Server::holds(const std::string& name, const std::string& owner) {
  return count(name, owner) > 0;
}

std::int64_t Server::count(const std::string& name, const std::string& owner) {
  const Key* found = key(name);
  if (found == nullptr) return 0;
  const auto hold = found->holds.find(owner);
  return hold == found->holds.end() ? 0 : hold->second;
}

bool Server::known_to_be_free(const std::string& name) {
  if (key(name) != nullptr) return false;
  const auto believed = silently_free_.find(name);
  constexpr std::int64_t kClocksApart = 100;
  return believed == silently_free_.end() || milliseconds() > believed->second + kClocksApart;
}

std::vector<std::pair<std::string, std::string>> Server::all_holds() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, lock] : std::map<std::string, Key>(keys_)) {
    if (key(name) == nullptr) continue;
    for (const auto& [owner, count] : lock.holds) all.emplace_back(name, owner);
  }
  return all;
}

}  // namespace holdfast::simulation
