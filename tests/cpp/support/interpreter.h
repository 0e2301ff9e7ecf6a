#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "redis/script/writer.h"
#include "support/answer.h"

struct lua_State;

namespace holdfast::simulation {

// Where the commands of a script go.
class ScriptHost {
 public:
  virtual ~ScriptHost() = default;
  virtual Answer call(const Words& command) = 0;
};

// Runs the embedded scripts on Lua 5.1, as Redis does: what `redis.call` returns and raises, what a
// script's result becomes, and no globals. Each script is compiled once in a process; a script
// keeps nothing, so that all servers of a thread share one.
class Interpreter {
 public:
  Interpreter();
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  static Interpreter& of_this_thread();

  // `command`: EVAL's words.
  Answer run(const script::Script& script, const Words& command, ScriptHost& host);

 private:
  friend struct RedisLibrary;

  void push_function(const script::Script& script);
  void set_list(const char* name, const Words& words, std::size_t from, std::size_t to);

  lua_State* const lua_;
  ScriptHost* host_ = nullptr;
  std::unordered_map<const script::Script*, int> compiled_;
};

}  // namespace holdfast::simulation
