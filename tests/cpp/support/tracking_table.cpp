#include "support/tracking_table.h"

#include <utility>

namespace holdfast::simulation {

namespace {

constexpr const char* kInvalidate = ">2\r\n$10\r\ninvalidate\r\n";

}  // namespace

void TrackingTable::read(const std::shared_ptr<Wire>& wire, const std::string& key) {
  if (wire && wires_.count(wire->number()) != 0) readers_[key][wire->number()] = wire;
}

void TrackingTable::written(const std::shared_ptr<Wire>& wire, const std::string& key) {
  const auto found = readers_.find(key);
  if (found == readers_.end()) return;
  const auto readers = std::move(found->second);
  readers_.erase(found);
  const std::string message =
      kInvalidate + ("*1\r\n$" + std::to_string(key.size())) + "\r\n" + key + "\r\n";
  for (const auto& [number, reader] : readers) {
    if (reader != wire && reader->open_at_server()) reader->reply(message);
  }
}

void TrackingTable::flushed() {
  readers_.clear();
  for (const auto& [number, wire] : wires_) {
    if (wire->open_at_server()) wire->reply(std::string(kInvalidate) + "_\r\n");
  }
}

void TrackingTable::clear() {
  readers_.clear();
  wires_.clear();
}

}  // namespace holdfast::simulation
