#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/network.h"

namespace holdfast::simulation {

// A server that says what its test wants.
class ScriptedPeer final : public Peer {
 public:
  bool up() const override { return accepts; }

  void arrived(const std::shared_ptr<Wire>& wire, std::vector<Command> commands) override {
    latest = wire;
    for (const Command& command : commands) {
      std::string words;
      for (const std::string& word : command.words) words += (words.empty() ? "" : " ") + word;
      got.push_back(words);
      const std::string reply = answer(words);
      if (!reply.empty()) wire->reply(reply);
    }
  }

  bool accepts = true;           // connections
  std::vector<std::string> got;  // all commands, in order
  std::shared_ptr<Wire> latest;  // the wire of the last one
  // The reply to a command; empty: none. By default what follows the command's first word.
  std::function<std::string(const std::string& words)> answer = [](const std::string& words) {
    return "+" + words.substr(words.find(' ') + 1) + "\r\n";
  };
};

}  // namespace holdfast::simulation
