#include "client/send_batch.h"

#include <algorithm>
#include <utility>

#include "client/connection.h"

namespace holdfast::client {

namespace {
thread_local SendBatch* batch_of_this_thread = nullptr;
}  // namespace

SendBatch::SendBatch() : outer_(batch_of_this_thread) {
  if (outer_ == nullptr) batch_of_this_thread = this;
}

SendBatch::~SendBatch() {
  if (outer_ != nullptr) return;
  batch_of_this_thread = nullptr;
  for (const std::shared_ptr<Connection>& connection : connections_) connection->send_now();
}

bool SendBatch::puts_off(const std::shared_ptr<Connection>& connection) {
  SendBatch* const batch = batch_of_this_thread;
  if (batch == nullptr) return false;
  auto& all = batch->connections_;
  if (std::find(all.begin(), all.end(), connection) == all.end()) all.push_back(connection);
  return true;
}

}  // namespace holdfast::client
