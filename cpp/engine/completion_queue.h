#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "sync/operation.h"

namespace holdfast::engine {

// The finished operations of one event loop of Python, handed over in batches: fd() becomes
// readable with the first, and stays so until drain().
class CompletionQueue final : public sync::Completion {
 public:
  using Done = std::pair<std::uint64_t, sync::Outcome>;

  CompletionQueue();
  ~CompletionQueue() override;
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  int fd() const { return fd_; }

  void done(std::uint64_t id, sync::Outcome outcome) override;

  std::vector<Done> drain();

 private:
  const int fd_;
  std::mutex mutex_;
  std::vector<Done> done_;
};

}  // namespace holdfast::engine
