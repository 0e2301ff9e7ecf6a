#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "base/types.h"
#include "client/request.h"

namespace holdfast::sync {

class Recipe;

// The last undo of each owner and lock that has no answer yet. It takes back what those before it
// would: they are abandoned, so that a server which is away for long finds one for each owner, and
// not one for each attempt. Thread-safe.
class LastUndos {
 public:
  // Whose holds of what; read and write holds of one name have recipes of their own.
  using Key = std::tuple<const Recipe*, std::string, OwnerNumber>;

  // To be called before `undo` is submitted; it is tried for as long as the one before it was.
  void add(const Key& key, const std::shared_ptr<client::Request>& undo);

  // It is answered.
  void remove(const Key& key, const client::Request& undo);

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<client::Request>> undos_;
};

}  // namespace holdfast::sync
