#include "support/server.h"

#include <algorithm>
#include <unordered_map>

#include "lua_scripts.h"
#include "redis/topology/slot_map.h"
#include "support/commands.h"
#include "support/renewed_holds.h"

namespace holdfast::simulation {

namespace {

// `command`: EVAL's words.
bool has_several_slots(const Words& command) {
  const auto begin = command.begin() + 3;
  const auto end = begin + std::stol(command[2]);
  return std::any_of(begin, end, [&](const std::string& key) {
    return topology::slot_of(key) != topology::slot_of(*begin);
  });
}

const char* const kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

bool is_watchdog(const Wire& wire) { return wire.owner().find("/renewals") != std::string::npos; }

// One of the embedded scripts, by its SHA1 or by its text; null for any other.
const script::Script* find_script(const std::string& sha1_or_text) {
  static const auto known = [] {
    std::unordered_map<std::string_view, const script::Script*> map;
    for (const script::Script* script : script::lua::all) {
      map[script->sha1] = map[script->text] = script;
    }
    return map;
  }();
  const auto found = known.find(sha1_or_text);
  return found == known.end() ? nullptr : found->second;
}

// A script that is known by its text alone.
const script::Script* probe(const std::string& text) {
  static std::map<std::string, script::Script> probes;
  const auto found = probes.try_emplace(text).first;
  found->second.text = found->first;
  return &found->second;
}

bool fits(const Words& command, const DataCommand& known) {
  const int words = static_cast<int>(command.size());
  return known.words > 0 ? words == known.words : words >= -known.words;
}

Answer wrong_number(const std::string& name) {
  return Answer::error("ERR wrong number of arguments for '" + lower(name) + "' command");
}

}  // namespace

Server::Server(World& world, std::int64_t drift) : world_(world), drift_(drift) {}

std::int64_t Server::microseconds() const {
  const std::int64_t nanoseconds = (world_.now() - TimePoint(std::chrono::hours(1))).count();
  return (nanoseconds + nanoseconds / 1'000'000 * drift_) / 1000;
}

int Server::runs(const std::string& script) const {
  const auto found = runs_.find(script);
  return found == runs_.end() ? 0 : found->second;
}

Keyspace& Server::data() {
  data_.set_time(microseconds());
  return data_;
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
      const Answer answer = run(wire, command);
      answer.append_to(replies);
      if (world_.tracing) describe(*wire, command, answer);
    }
    wire->reply(std::move(replies));
  }
}

void Server::describe(const Wire& wire, const Command& command, const Answer& answer) {
  std::string words;
  for (const std::string& word : command.words) {
    const script::Script* script = find_script(word);
    words += ' ';
    words += script != nullptr ? script->name : std::string_view(word);
  }
  std::string said = answer.bytes();
  std::replace(said.begin(), said.end(), '\r', ' ');
  said.erase(std::remove(said.begin(), said.end(), '\n'), said.end());
  world_.say("server, wire ", std::to_string(wire.number()), ":", words, " -> ", said);
}

Answer Server::run(const std::shared_ptr<Wire>& wire, const Command& command) {
  const std::string& word = command.words[0];
  if (word == "SUBSCRIBE" || word == "UNSUBSCRIBE") return subscribe(wire, command);
  if (word == "HELLO" || word == "CLIENT") return greet(wire, command.words);
  if (mood_ == Mood::kLoading)
    return Answer::error("LOADING Redis is loading the dataset in memory");
  data_.set_time(microseconds());
  caller_ = wire;
  if (word == "EVAL" || word == "EVALSHA") return run_script(command.words);
  if (word == "SCRIPT") return load(command.words);
  if (word == "WAIT") return wait(command.words);
  return carry_out(command.words);
}

Answer Server::subscribe(const std::shared_ptr<Wire>& wire, const Command& command) {
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
  return Answer::array({Answer::bulk(on ? "subscribe" : "unsubscribe"), Answer::bulk(channel),
                        Answer::number(static_cast<std::int64_t>(wire->channels.size()))});
}

Answer Server::greet(const std::shared_ptr<Wire>& wire, const Words& command) {
  if (command[0] == "HELLO") {
    return Answer::array({Answer::bulk("version"), Answer::bulk(version_), Answer::bulk("proto"),
                          Answer::number(3)});
  }
  if (!allows_tracking_) return Answer::error("ERR unknown subcommand 'TRACKING'");
  tracking_.start(wire);
  return Answer::status("OK");
}

Answer Server::load(const Words& command) {
  const script::Script* script = find_script(command[2]);
  if (script == nullptr) return Answer::error("ERR the double knows the embedded scripts only");
  scripts_.insert(script->name);
  return Answer::bulk(std::string(script->sha1));
}

Answer Server::wait(const Words& command) {
  const std::int64_t wanted = std::stoll(command[1]);
  if (wanted == 0 || !world_.random.chance(lag_per_mille_)) return Answer::number(wanted);
  return Answer::number(wanted - 1);
}

Answer Server::run_script(const Words& command) {
  const bool by_text = command[0] == "EVAL";
  const script::Script* script = find_script(command[1]);
  if (script == nullptr && by_text) script = probe(command[1]);
  if (by_text) {
    scripts_.insert(script->name);
  } else if (script == nullptr || scripts_.count(script->name) == 0) {
    return Answer::error("NOSCRIPT No matching script. Please use EVAL.");
  }
  if (divided_ && has_several_slots(command)) {
    ++refused_;
    return Answer::error("CROSSSLOT Keys in request don't hash to the same slot");
  }
  return evaluate(*script, command);
}

Answer Server::execute(const script::Script& foreign, const Words& command) {
  data_.set_time(microseconds());
  return evaluate(foreign, command);
}

Answer Server::evaluate(const script::Script& script, const Words& command) {
  ++runs_[script.name];
  in_script_ = true;
  has_written_ = false;
  Answer answer = Interpreter::of_this_thread().run(script, command, *this);
  in_script_ = false;
  if (witness != nullptr) witness->executed(script, command, answer);
  return answer;
}

// A command of a script. A script that has written is not stopped when memory runs out.
Answer Server::call(const Words& command) {
  Answer answer = carry_out(command);
  const DataCommand* known = data_command(command[0]);
  has_written_ = has_written_ || (known != nullptr && known->writes);
  return answer;
}

Answer Server::carry_out(const Words& command) {
  const DataCommand* known = data_command(command[0]);
  if (known == nullptr) return publish_or_refuse(command);
  if (!fits(command, *known)) return wrong_number(command[0]);
  const bool under_way = in_script_ && has_written_;
  if (mood_ == Mood::kFull && known->grows && !under_way) return Answer::error(kOutOfMemory);
  try {
    Answer answer = known->run(data_, command);
    track(*known, command);
    return answer;
  } catch (const Refusal& refusal) {
    return Answer::error(refusal.text);
  }
}

// Each of its keys; of a command that takes several, all that follow.
void Server::track(const DataCommand& known, const Words& command) {
  const std::string name = lower(command[0]);
  const bool many = name == "del" || name == "unlink" || name == "exists";
  const std::size_t end = many ? command.size() : std::min<std::size_t>(command.size(), 2);
  for (std::size_t i = 1; i < end; ++i) {
    if (known.writes) {
      tracking_.written(caller_, command[i]);
    } else {
      tracking_.read(caller_, command[i]);
    }
  }
}

// A command that is not about data.
Answer Server::publish_or_refuse(const Words& command) {
  const std::string name = lower(command[0]);
  if (name != "publish" && name != "spublish") {
    return Answer::error("ERR the double does not know the command " + name);
  }
  return command.size() == 3 ? publish(command[1], command[2]) : wrong_number(name);
}

Answer Server::publish(const std::string& channel, const std::string& message) {
  ++totals_.messages;
  if (witness != nullptr) witness->published(channel);
  const auto closed = [](const auto& wire) { return !wire->open_at_server(); };
  subscribers_.erase(std::remove_if(subscribers_.begin(), subscribers_.end(), closed),
                     subscribers_.end());
  std::int64_t notified = 0;
  for (const auto& wire : subscribers_) {
    if (wire->channels.count(channel) == 0) continue;
    wire->reply(
        Answer::array({Answer::bulk("message"), Answer::bulk(channel), Answer::bulk(message)})
            .bytes());
    ++notified;
  }
  return Answer::number(notified);
}

void Server::watch_departure(const Wire& wire, const Command& command) {
  if (!on_renewal || !is_watchdog(wire) || command.words[0].substr(0, 4) != "EVAL") return;
  const std::string client = wire.owner().substr(0, wire.owner().find('/'));
  const script::Script* script = find_script(command.words[1]);
  if (script != nullptr && renews_batch(script->name)) {
    for (const RenewedHold& hold : renewed_holds(command.words)) {
      on_renewal(client, hold.keys.front(), hold.owner);
    }
  } else {
    const std::size_t first_argument = 3 + std::stoul(command.words[2]);
    on_renewal(client, command.words[3], command.words[first_argument]);
  }
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
  tracking_.clear();
  flush_scripts();
  for (const auto& wire : wires) wire->cut(false);
  inbox_.clear();
  if (!with_data) flush_data();
  world_.in(down, [this] { up_ = true; });
}

void Server::flush_data() {
  data_.set_time(microseconds());
  data_.clear();
  tracking_.flushed();
  if (witness != nullptr) witness->forgot();
}

}  // namespace holdfast::simulation
