#pragma once

#include <memory>
#include <vector>

namespace holdfast::client {

class Connection;

// What the calling thread submits in this scope is sent at its end: in one piece for each
// connection that callers drive. In a scope within another one the outer one counts. Not to be held
// while the thread waits.
class SendBatch {
 public:
  SendBatch();
  ~SendBatch();
  SendBatch(const SendBatch&) = delete;
  SendBatch& operator=(const SendBatch&) = delete;

  // Whether the calling thread is in such a scope, which then sends what `connection` has.
  static bool puts_off(const std::shared_ptr<Connection>& connection);

 private:
  SendBatch* const outer_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace holdfast::client
