#include "support/interpreter.h"

#include <cmath>
#include <cstdio>
#include <lua.hpp>
#include <string>

namespace holdfast::simulation {

namespace {

constexpr const char* kPrelude = R"lua(
setmetatable(_G, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
  __newindex = function(_, name)
    error("Attempt to modify a readonly table", 2)
  end,
})
)lua";

void push_text(lua_State* lua, const std::string& text) {
  lua_pushlstring(lua, text.data(), text.size());
}

std::string text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, index, &size);
  return {text, size};
}

void push_field(lua_State* lua, const char* name, const std::string& text) {
  lua_createtable(lua, 0, 1);
  push_text(lua, text);
  lua_setfield(lua, -2, name);
}

// What a command has answered, as a script gets it.
void push(lua_State* lua, const Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::kNil:
      return lua_pushboolean(lua, 0);
    case Answer::Kind::kInteger:
      return lua_pushnumber(lua, static_cast<lua_Number>(answer.integer));
    case Answer::Kind::kBulk:
      return push_text(lua, answer.text);
    case Answer::Kind::kStatus:
      return push_field(lua, "ok", answer.text);
    case Answer::Kind::kError:
      return push_field(lua, "err", answer.text);
    case Answer::Kind::kArray:
      lua_createtable(lua, static_cast<int>(answer.elements.size()), 0);
      int index = 0;
      for (const Answer& element : answer.elements) {
        push(lua, element);
        lua_rawseti(lua, -2, ++index);
      }
  }
}

// The text of a field of the table on top; nothing when it has no such field.
std::string field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  const std::string text = lua_isstring(lua, -1) != 0 ? text_at(lua, -1) : std::string();
  lua_pop(lua, 1);
  return text;
}

Answer result(lua_State* lua);

Answer table_result(lua_State* lua) {
  if (const std::string error = field(lua, "err"); !error.empty()) return Answer::error(error);
  if (const std::string status = field(lua, "ok"); !status.empty()) return Answer::status(status);
  std::vector<Answer> elements;
  for (int index = 1;; ++index) {
    lua_rawgeti(lua, -1, index);
    const bool end = lua_isnil(lua, -1);
    if (!end) elements.push_back(result(lua));
    lua_pop(lua, 1);
    if (end) return Answer::array(std::move(elements));
  }
}

// What is on top of the stack, as a client gets it.
Answer result(lua_State* lua) {
  switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
      return Answer::number(static_cast<std::int64_t>(lua_tonumber(lua, -1)));
    case LUA_TSTRING:
      return Answer::bulk(text_at(lua, -1));
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, -1) != 0 ? Answer::number(1) : Answer::nil();
    case LUA_TTABLE:
      return table_result(lua);
    default:
      return Answer::nil();
  }
}

// The arguments of redis.call; false when one of them is neither a string nor a number.
bool read_words(lua_State* lua, Words& words) {
  const int count = lua_gettop(lua);
  words.reserve(static_cast<std::size_t>(count));
  for (int index = 1; index <= count; ++index) {
    if (lua_type(lua, index) == LUA_TNUMBER) {
      char text[64];
      (void)std::snprintf(text, sizeof text, "%.17g", lua_tonumber(lua, index));
      words.emplace_back(text);
    } else if (lua_type(lua, index) == LUA_TSTRING) {
      words.push_back(text_at(lua, index));
    } else {
      return false;
    }
  }
  return count > 0;
}

}  // namespace

// What Lua calls. An error is raised by a jump, which must not pass over C++ objects: so each
// function pushes within another, and raises when that has returned.
struct RedisLibrary {
  static Interpreter& self(lua_State* lua) {
    return *static_cast<Interpreter*>(lua_touserdata(lua, lua_upvalueindex(1)));
  }

  // Pushes the answer; true when it is an error.
  static bool push_answer(lua_State* lua) {
    Words words;
    if (!read_words(lua, words)) {
      push(lua, Answer::error("ERR Lua redis lib command arguments must be strings or integers"));
      return true;
    }
    const Answer answer = self(lua).host_->call(words);
    push(lua, answer);
    return answer.is(Answer::Kind::kError);
  }

  static int call(lua_State* lua) { return push_answer(lua) ? lua_error(lua) : 1; }

  static int pcall(lua_State* lua) {
    (void)push_answer(lua);
    return 1;
  }

  static int error_reply(lua_State* lua) {
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, 1);
    lua_setfield(lua, -2, "err");
    return 1;
  }

  static int status_reply(lua_State* lua) {
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, 1);
    lua_setfield(lua, -2, "ok");
    return 1;
  }

  static void install(lua_State* lua, Interpreter* interpreter) {
    constexpr luaL_Reg kFunctions[] = {{"call", call},
                                       {"pcall", pcall},
                                       {"error_reply", error_reply},
                                       {"status_reply", status_reply}};
    lua_newtable(lua);
    for (const luaL_Reg& function : kFunctions) {
      lua_pushlightuserdata(lua, interpreter);
      lua_pushcclosure(lua, function.func, 1);
      lua_setfield(lua, -2, function.name);
    }
    lua_setglobal(lua, "redis");
  }
};

Interpreter& Interpreter::of_this_thread() {
  thread_local Interpreter interpreter;
  return interpreter;
}

Interpreter::Interpreter() : lua_(luaL_newstate()) {
  for (const lua_CFunction open : {luaopen_base, luaopen_table, luaopen_string, luaopen_math}) {
    lua_pushcfunction(lua_, open);
    lua_call(lua_, 0, 0);
  }
  RedisLibrary::install(lua_, this);
  (void)luaL_dostring(lua_, kPrelude);
  lua_settop(lua_, 0);
}

Interpreter::~Interpreter() { lua_close(lua_); }

// Leaves nil on the stack, and the reason above it, when it cannot be compiled.
void Interpreter::push_function(const script::Script& script) {
  const auto known = compiled_.find(&script);
  if (known != compiled_.end()) return lua_rawgeti(lua_, LUA_REGISTRYINDEX, known->second);
  if (luaL_loadbuffer(lua_, script.text.data(), script.text.size(), "@user_script") != 0) return;
  lua_pushvalue(lua_, -1);
  compiled_[&script] = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

void Interpreter::set_list(const char* name, const Words& words, std::size_t from, std::size_t to) {
  lua_pushstring(lua_, name);
  lua_createtable(lua_, static_cast<int>(to - from), 0);
  for (std::size_t i = from; i < to; ++i) {
    push_text(lua_, words[i]);
    lua_rawseti(lua_, -2, static_cast<int>(i - from) + 1);
  }
  lua_rawset(lua_, LUA_GLOBALSINDEX);
}

Answer Interpreter::run(const script::Script& script, const Words& command, ScriptHost& host) {
  host_ = &host;
  const std::size_t keys_end = 3 + static_cast<std::size_t>(std::stoul(command[2]));
  set_list("KEYS", command, 3, keys_end);
  set_list("ARGV", command, keys_end, command.size());
  push_function(script);
  const bool raised = lua_isfunction(lua_, -1) == 0 || lua_pcall(lua_, 0, 1, 0) != 0;
  Answer answer = result(lua_);
  lua_settop(lua_, 0);
  if (raised && !answer.is(Answer::Kind::kError)) answer = Answer::error("ERR " + answer.text);
  if (raised) answer.text += " script: " + std::string(script.sha1);
  return answer;
}

}  // namespace holdfast::simulation
