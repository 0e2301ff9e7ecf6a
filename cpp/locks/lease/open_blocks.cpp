#include "locks/lease/open_blocks.h"

#include <algorithm>
#include <utility>

namespace holdfast::lease {

namespace {
bool refuses(const OpenBlocks::Loss& loss) { return loss.refuses; }
}  // namespace

void OpenBlocks::lose(const LockName& name, OwnerNumber owner, Loss loss) {
  OfName* const found = find(name, owner);
  const int released = found != nullptr ? std::exchange(found->released, 0) : 0;
  if (released > 0) found->losses.push_back({loss.reason, loss.refuses, released});
  if (loss.blocks > 0) at(name, owner).losses.push_back(std::move(loss));
}

void OpenBlocks::release(const LockName& name, OwnerNumber owner, int blocks) {
  if (blocks > 0) at(name, owner).released += blocks;
}

std::optional<std::string> OpenBlocks::end(const LockName& name, OwnerNumber owner) {
  OfName* const found = find(name, owner);
  if (found == nullptr) return std::nullopt;
  std::optional<std::string> reason;
  if (found->released > 0) {
    --found->released;
  } else {
    Loss& newest = found->losses.back();
    reason = newest.reason;
    if (--newest.blocks == 0) found->losses.pop_back();
  }
  // Forgets names without a released block and without a loss.
  const auto of = owners_.find(owner);
  OfOwner& names = of->second;
  const auto is_over = [](const OfName& each) { return each.released == 0 && each.losses.empty(); };
  names.erase(std::remove_if(names.begin(), names.end(), is_over), names.end());
  if (names.empty()) owners_.erase(of);
  return reason;
}

void OpenBlocks::explain(const LockName& name, OwnerNumber owner, const std::string& reason) {
  OfName* const found = find(name, owner);
  if (found != nullptr && !found->losses.empty()) found->losses.back().reason = reason;
}

const OpenBlocks::Loss* OpenBlocks::refusing(const LockName& name, OwnerNumber owner) const {
  const auto of = owners_.find(owner);
  if (of == owners_.end()) return nullptr;
  for (const OfName& each : of->second) {
    if (each.name.bytes() != name.bytes()) continue;
    const auto found = std::find_if(each.losses.begin(), each.losses.end(), refuses);
    if (found != each.losses.end()) return &*found;
  }
  return nullptr;
}

bool OpenBlocks::lost(const LockName& name, OwnerNumber owner) const {
  const OfName* const found = find(name, owner);
  return found != nullptr && std::any_of(found->losses.begin(), found->losses.end(), refuses);
}

const OpenBlocks::OfName* OpenBlocks::find(const LockName& name, OwnerNumber owner) const {
  const auto of = owners_.find(owner);
  if (of == owners_.end()) return nullptr;
  const auto is = [&name](const OfName& each) { return each.name == name; };
  const auto found = std::find_if(of->second.begin(), of->second.end(), is);
  return found == of->second.end() ? nullptr : &*found;
}

OpenBlocks::OfName* OpenBlocks::find(const LockName& name, OwnerNumber owner) {
  return const_cast<OfName*>(std::as_const(*this).find(name, owner));
}

OpenBlocks::OfName& OpenBlocks::at(const LockName& name, OwnerNumber owner) {
  if (OfName* const found = find(name, owner)) return *found;
  OfOwner& of = owners_[owner];
  of.push_back({name});
  return of.back();
}

}  // namespace holdfast::lease
