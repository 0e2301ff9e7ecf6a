#pragma once

#include <map>
#include <memory>
#include <string>

#include "support/network.h"

namespace holdfast::simulation {

// Which wire gets a message of which key, as CLIENT TRACKING with NOLOOP has it: a reading begins
// that, the first write ends it, and is not reported to the wire that has written.
class TrackingTable {
 public:
  // Replies that it does: it speaks RESP3 on this wire.
  void start(const std::shared_ptr<Wire>& wire) { wires_[wire->number()] = wire; }
  void read(const std::shared_ptr<Wire>& wire, const std::string& key);
  // `wire`: null for one that is not tracked.
  void written(const std::shared_ptr<Wire>& wire, const std::string& key);
  void flushed();
  // The server remembers one key too many and gives this one up, as if it had changed.
  void evict(const std::string& key) { written(nullptr, key); }
  // No further message of the key, as where the message is lost.
  void forget(const std::string& key) { readers_.erase(key); }
  void clear();

 private:
  using Wires = std::map<int, std::shared_ptr<Wire>>;  // by number

  Wires wires_;
  std::map<std::string, Wires> readers_;  // by key
};

}  // namespace holdfast::simulation
