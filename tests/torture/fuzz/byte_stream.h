#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "redis/net/pollable.h"
#include "redis/net/transport.h"

namespace holdfast::fuzz {

// The fuzzer's input as pieces of a byte stream: the first byte of each piece says how long it is.
class Pieces {
 public:
  Pieces(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::string_view next() {
    if (rest_.empty()) return {};
    const std::size_t length = 1 + static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    const std::string_view piece = rest_.substr(0, length);
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view rest_;
};

// A connected stream whose peer sends these pieces, one for each read, and then hangs up. It takes
// whatever is written. The pieces must outlive it; a second stream goes on where the first ended.
class PieceTransport final : public net::Transport {
 public:
  explicit PieceTransport(Pieces& pieces) : pieces_(pieces) {}

  int fd() const override { return -1; }
  net::IoResult connect() override { return {}; }

  net::IoResult read(char* into, std::size_t size) override {
    if (left_.empty()) left_ = pieces_.next();
    if (left_.empty()) return {net::Io::kFailed, 0, Status::unreachable("the input has ended")};
    const std::size_t taken = std::min(size, left_.size());
    std::memcpy(into, left_.data(), taken);
    left_.remove_prefix(taken);
    return {net::Io::kDone, taken, {}};
  }

  bool has_input() const override { return false; }

  net::IoResult write(const char* /*from*/, std::size_t size) override {
    return {net::Io::kDone, size, {}};
  }

  void abort() override {}

 private:
  Pieces& pieces_;
  std::string_view left_;
};

// Keeps nothing: the fuzzer steps what it drives itself.
class NoLoop final : public net::Loop {
 public:
  void drive(std::shared_ptr<net::Pollable> /*pollable*/) override {}
};

}  // namespace holdfast::fuzz
