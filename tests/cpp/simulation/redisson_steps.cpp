#include "simulation/redisson_steps.h"

#include <map>
#include <utility>

#include "locks/sync/recipes/keys.h"

namespace holdfast::simulation {

namespace {

// Of all steps. What a kind does not have is an empty name.
const char* const kNames = R"lua(
local name, channel, prefix = KEYS[1], KEYS[2], KEYS[3]
local queue, times = KEYS[4], KEYS[5]
local owner, lease, now = ARGV[1], ARGV[2], tonumber(ARGV[3])
local writer = owner .. ':write'
local call = redis.call
local function timeout(field, n)
  return prefix .. ':' .. field .. ':rwlock_timeout:' .. n
end
local function has(field)
  return call('hexists', name, field) == 1
end
)lua";

// The first in a fair lock's line that is not dead; the dead before it are dropped.
const char* const kFair = R"lua(
local function first()
  local head = call('lindex', queue, 0)
  while head and tonumber(call('zscore', times, head)) <= now do
    call('zrem', times, head)
    call('lpop', queue)
    head = call('lindex', queue, 0)
  end
  return head
end
local function notify_first()
  local head = first()
  if head then
    call('publish', channel .. ':' .. head, '0')
  end
end
)lua";

// step "family/what", and of one version only "family/what version" -> its text.
struct Text {
  const char* key;
  const char* text;
};
const Text kTexts[] = {{"lock/take", R"lua(
if call('exists', name) == 1 and not has(owner) then
  return call('pttl', name)
end
call('hincrby', name, owner, 1)
call('pexpire', name, lease)
return nil
)lua"},
                       {"lock/renew", R"lua(
return has(owner) and call('pexpire', name, lease) or 0
)lua"},
                       {"lock/release", R"lua(
if not has(owner) then
  return nil
elseif call('hincrby', name, owner, -1) > 0 then
  call('pexpire', name, lease)
  return 0
end
call('del', name)
call('publish', channel, '0')
return 1
)lua"},
                       {"lock/force_release", R"lua(
return call('del', name) == 1 and call('publish', channel, '0') or 0
)lua"},
                       {"fair/take", R"lua(
local head = first()
local free = call('exists', name) == 0 and (not head or head == owner)
if not free and not has(owner) then
  return call('pttl', name)
end
call('hincrby', name, owner, 1)
call('pexpire', name, lease)
return nil
)lua"},
                       {"fair/renew", R"lua(
return has(owner) and call('pexpire', name, lease) or 0
)lua"},
                       {"fair/release", R"lua(
first()
if call('exists', name) == 0 then
  notify_first()
  return 1
elseif not has(owner) then
  return nil
elseif call('hincrby', name, owner, -1) > 0 then
  call('pexpire', name, lease)
  return 0
end
call('del', name)
notify_first()
return 1
)lua"},
                       {"fair/force_release", R"lua(
first()
local held = call('del', name)
if held == 1 then
  notify_first()
end
return held
)lua"},
                       {"read/take", R"lua(
local mode = call('hget', name, 'mode')
if mode == 'write' and not has(writer) then
  return call('pttl', name)
elseif not mode then
  call('hset', name, 'mode', 'read')
end
call('set', timeout(owner, call('hincrby', name, owner, 1)), '1', 'px', lease)
call('pexpire', name, math.max(call('pttl', name), tonumber(lease)))
return nil
)lua"},
                       // All that read are given this thread's lease, whether they live or not.
                       {"read/renew 3.17.6", R"lua(
if not has(owner) then
  return 0
end
call('pexpire', name, lease)
local fields = call('hgetall', name)
for i = 1, #fields, 2 do
  for n = tonumber(fields[i + 1]) or 0, 1, -1 do
    call('pexpire', timeout(fields[i], n), lease)
  end
end
return 1
)lua"},
                       // Only the thread's holds, but with them the whole lock.
                       {"read/renew", R"lua(
if not has(owner) then
  return 0
end
for n = tonumber(call('hget', name, owner)), 1, -1 do
  call('pexpire', timeout(owner, n), lease)
end
return call('pexpire', name, lease)
)lua"},
                       {"read/release", R"lua(
local mode = call('hget', name, 'mode')
if not mode then
  call('publish', channel, '0')
  return nil
elseif not has(owner) then
  return nil
end
local left = call('hincrby', name, owner, -1)
if left == 0 then
  call('hdel', name, owner)
end
call('del', timeout(owner, left + 1))
if call('hlen', name) > 1 then
  local longest = 0
  local fields = call('hgetall', name)
  for i = 1, #fields, 2 do
    for n = tonumber(fields[i + 1]) or 0, 1, -1 do
      longest = math.max(longest, call('pttl', timeout(fields[i], n)))
    end
  end
  if longest > 0 then
    call('pexpire', name, longest)
    return 0
  elseif mode == 'write' then
    return 0
  end
end
call('del', name)
call('publish', channel, '0')
return 1
)lua"},
                       {"read/force_release", R"lua(
if call('hget', name, 'mode') ~= 'read' then
  return 0
end
call('del', name)
call('publish', channel, '0')
return 1
)lua"},
                       {"write/take", R"lua(
local mode = call('hget', name, 'mode')
if mode and not (mode == 'write' and has(writer)) then
  return call('pttl', name)
end
local before = mode and call('pttl', name) or 0
call('hset', name, 'mode', 'write')
call('hincrby', name, writer, 1)
call('pexpire', name, before + lease)
return nil
)lua"},
                       {"write/renew", R"lua(
return has(writer) and call('pexpire', name, lease) or 0
)lua"},
                       {"write/release", R"lua(
if call('hget', name, 'mode') ~= 'write' or not has(writer) then
  return nil
elseif call('hincrby', name, writer, -1) > 0 then
  call('pexpire', name, lease)
  return 0
end
call('hdel', name, writer)
if call('hlen', name) > 1 then
  call('hset', name, 'mode', 'read')
  return 1
end
call('del', name)
call('publish', channel, '1')
return 1
)lua"},
                       {"write/force_release", R"lua(
if call('hget', name, 'mode') ~= 'write' then
  return 0
end
call('del', name)
call('publish', channel, '1')
return 1
)lua"}};

// Each lives as long as the process: scripts are compiled once.
const script::Script& find(const std::string& step, Redisson version) {
  static const auto scripts = [] {
    std::map<std::string, std::pair<std::string, std::string>> all;  // -> its name, its text
    for (const auto& [key_text, text] : kTexts) {
      const std::string key = key_text;
      const std::string helpers = key.substr(0, 5) == "fair/" ? kFair : "";
      all[key] = {"redisson/" + key.substr(0, key.find(' ')), kNames + helpers + text};
    }
    return all;
  }();
  static std::map<std::string, script::Script> made;
  const std::string older = step + " 3.17.6";
  const bool differs = version == Redisson::k3_17_6 && scripts.count(older) != 0;
  const std::string& key = differs ? older : step;
  const auto& [name, text] = scripts.at(key);
  return made.try_emplace(key, script::Script{name, {}, text}).first->second;
}

std::string family_of(const Kind& kind, const LockName& lock) {
  if (lock.side() == Side::kRead) return "read";
  if (lock.side() == Side::kWrite) return "write";
  return kind.word() == "fair_lock" ? "fair" : "lock";
}

}  // namespace

bool RedissonSteps::has(const Kind& kind) {
  return kind.word() == "lock" || kind.word() == "fair_lock" || kind.word() == "read_write_lock";
}

RedissonSteps::RedissonSteps(const Kind& kind, Redisson version, LockName lock, std::string owner)
    : family_(family_of(kind, lock)),
      version_(version),
      lock_(std::move(lock)),
      owner_(std::move(owner)) {}

RedissonStep RedissonSteps::step(const std::string& what, Millis lease) const {
  const bool sides = lock_.side() != Side::kWhole;
  const std::string channel =
      sides ? sync::keys::kSidesChannel.of(lock_) : sync::keys::kLockChannel.of(lock_);
  const std::string milliseconds = std::to_string(lease.count());
  return {find(family_ + '/' + what, version_),
          {"EVAL", "", "5", lock_.text(), channel, sync::keys::kBraced.of(lock_),
           sync::keys::kFairQueue.of(lock_), sync::keys::kFairTimeouts.of(lock_), owner_,
           milliseconds}};
}

}  // namespace holdfast::simulation
