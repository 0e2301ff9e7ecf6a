#include "redis/topology/slot_map.h"

#include <algorithm>
#include <array>
#include <map>

namespace holdfast::topology {

namespace {

constexpr std::uint16_t kPolynomial = 0x1021;

// The checksum of each byte.
constexpr auto kTable = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1U ^ ((crc & 0x8000U) != 0 ? kPolynomial : 0U);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

Slot slot_of(std::string_view key) {
  std::uint32_t crc = 0;
  for (const char byte : hash_tag(key)) {
    crc = (crc << 8U ^ kTable[(crc >> 8U ^ static_cast<unsigned char>(byte)) & 0xffU]) & 0xffffU;
  }
  return static_cast<Slot>(crc % kSlots);
}

ServerNumber SlotMap::target(Slot slot) const {
  const auto move = moves_.find(slot);
  return move == moves_.end() ? primary(slot) : move->second.next;
}

bool SlotMap::assign(Slot slot, ServerNumber to) {
  if (target(slot) == to) return false;
  const auto move = moves_.find(slot);
  if (move != moves_.end()) {
    move->second.next = to;
    return true;
  }
  const ServerNumber from = primary(slot);
  if (from != 0) moves_.emplace(slot, Move{from, to, to});
  primaries_[slot].store(from == 0 ? to : 0, std::memory_order_release);
  return true;
}

std::vector<SlotMap::Fence> SlotMap::take_fences() {
  std::map<ServerNumber, std::uint64_t> fresh;
  for (auto& [slot, move] : moves_) {
    if (move.fence != 0) continue;
    std::uint64_t& fence = fresh[move.from];
    if (fence == 0) fence = ++fences_;
    move.fence = fence;
  }
  std::vector<Fence> fences;
  fences.reserve(fresh.size());
  for (const auto& [at, id] : fresh) fences.push_back({id, at});
  return fences;
}

bool SlotMap::passed(std::uint64_t fence) {
  bool settled = false;
  for (auto it = moves_.begin(); it != moves_.end();) {
    Move& move = it->second;
    if (move.fence == fence && move.next == move.to) {
      primaries_[it->first].store(move.to, std::memory_order_release);
      settled = true;
      it = moves_.erase(it);
      continue;
    }
    if (move.fence == fence) move = {move.to, move.next, move.next};
    ++it;
  }
  return settled;
}

bool SlotMap::leaving(ServerNumber from) const {
  return std::any_of(moves_.begin(), moves_.end(),
                     [from](const auto& move) { return move.second.from == from; });
}

std::set<ServerNumber> SlotMap::servers() const {
  std::set<ServerNumber> servers;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    servers.insert(target(static_cast<Slot>(slot)));
  }
  servers.erase(0);
  return servers;
}

}  // namespace holdfast::topology
