#pragma once

#include <cstddef>
#include <memory>

#include "base/mutex.h"
#include "net/endpoint.h"
#include "net/value_request.h"

namespace holdfast::net {

// Where the servers that other servers announce are reachable from here, behind NAT for example: by
// a table, or by a source. What has no entry in the table is reachable where it is announced.
// Thread-safe.
class AddressMap {
 public:
  // Results of a source that known() has at most.
  static constexpr std::size_t kMostKnown = 64;

  AddressMap(AddressTable table, AddressSource source)
      : source_(std::move(source)), known_(std::move(table)) {}

  // For one attempt to connect; returns at once.
  std::shared_ptr<AddressRequest> request(const Address& announced);

  // The answer to a request.
  void note(const Address& announced, const Address& reachable) HOLDFAST_EXCLUDES(mutex_);

  // The table; of a source, the newest answers.
  AddressTable known() const HOLDFAST_EXCLUDES(mutex_);

 private:
  const AddressSource source_;  // empty: the table says all
  mutable Mutex mutex_;
  AddressTable known_ HOLDFAST_GUARDED_BY(mutex_);
};

// Where the table says that `announced` is reachable.
const Address& mapped(const AddressTable& table, const Address& announced);

}  // namespace holdfast::net
