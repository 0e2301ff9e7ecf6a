#include "support/network.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace holdfast::simulation {

namespace {

constexpr int kFirstDescriptor = -2;  // -1 is "none"

// The client's end of a wire.
class WireTransport final : public net::Transport {
 public:
  WireTransport(const Network& network, std::shared_ptr<Wire> wire)
      : network_(network), wire_(std::move(wire)) {}
  ~WireTransport() override { wire_->close(false); }

  int fd() const override { return kFirstDescriptor - wire_->number(); }
  net::IoResult connect() override { return wire_->connect(); }
  net::IoResult read(char* into, std::size_t size) override { return wire_->read(into, size); }
  net::IoResult write(const char* from, std::size_t size) override {
    return wire_->write(from, size);
  }
  bool has_input() const override {
    net::Interest input;
    input.read = true;
    return wire_->ready(input);
  }
  net::IoResult await(char* into, std::size_t size) override {
    net::IoResult got = read(into, size);
    if (got.io != net::Io::kWantRead || !network_.wait_for_reply) return got;
    network_.wait_for_reply(fd(), moment());
    return read(into, size);
  }
  Millis moment() const override { return network_.wait_for_reply ? Network::kMoment : Millis(0); }
  void abort() override { wire_->close(true); }

 private:
  const Network& network_;
  const std::shared_ptr<Wire> wire_;
};

}  // namespace

void CommandParser::feed(std::string_view bytes, std::vector<Command>& commands) {
  pending_ += bytes;
  std::size_t at = 0;
  for (Command command; next(at, command); command = {}) commands.push_back(std::move(command));
  pending_.erase(0, at);
}

// One RESP array of bulk strings from `at` on; false when it is not all there yet.
bool CommandParser::next(std::size_t& at, Command& command) const {
  std::size_t here = at;
  const auto number = [&](long& value) {
    const std::size_t end = pending_.find("\r\n", here);
    if (end == std::string::npos) return false;
    value = std::strtol(pending_.c_str() + here + 1, nullptr, 10);
    here = end + 2;
    return true;
  };
  long words = 0;
  if (!number(words)) return false;
  for (long i = 0; i < words; ++i) {
    long size = 0;
    if (!number(size)) return false;
    const auto bytes = static_cast<std::size_t>(size);
    if (pending_.size() < here + bytes + 2) return false;
    command.words.push_back(pending_.substr(here, bytes));
    here += bytes + 2;
  }
  at = here;
  return true;
}

Wire::Wire(World& world, const Weather& weather, Peer& server, int number, std::string owner)
    : world_(world),
      weather_(weather),
      server_(server),
      number_(number),
      owner_(std::move(owner)) {}

Duration Wire::latency() {
  const Duration usual = world_.random.between(std::chrono::microseconds(30), Millis(1));
  if (!world_.random.chance(weather_.slow_per_mille)) return usual;
  return world_.random.between(usual, weather_.slowest);
}

net::IoResult Wire::connect() {
  if (at_client_ == End::kOpen) return {};
  if (refused_ || broken_) {
    return {net::Io::kFailed, 0, Status::unreachable("connection refused", Reach::kRefused)};
  }
  if (last_to_server_ == TimePoint{}) {
    last_to_server_ = world_.now() + 3 * latency();
    world_.at(last_to_server_, [self = shared_from_this()] { self->established(); });
  }
  return {net::Io::kWantWrite, 0, {}};
}

void Wire::established() {
  if (at_client_ != End::kConnecting || black_hole_) return;
  refused_ = !server_.up();
  if (refused_) return;
  at_client_ = at_server_ = End::kOpen;
}

net::IoResult Wire::read(char* into, std::size_t size) {
  if (inbox_.empty()) {
    if (broken_) return {net::Io::kFailed, 0, Status::unreachable("connection reset")};
    return {net::Io::kWantRead, 0, {}};
  }
  const std::size_t bytes = std::min(size, inbox_.size());
  inbox_.copy(into, bytes);
  inbox_.erase(0, bytes);
  return {net::Io::kDone, bytes, {}};
}

net::IoResult Wire::write(const char* from, std::size_t size) {
  if (broken_) return {net::Io::kFailed, 0, Status::unreachable("broken pipe")};
  if (world_.now() < blocked_until_) return {net::Io::kWantWrite, 0, {}};
  std::size_t bytes = size;
  if (world_.random.chance(weather_.partial_per_mille)) {
    bytes = 1 + world_.random.below(size);
    blocked_until_ = world_.now() + latency();
    world_.at(blocked_until_, [] {});
  }
  std::vector<Command> commands;
  parser_.feed({from, bytes}, commands);
  for (const Command& command : commands) server_.watch_departure(*this, command);
  if (!commands.empty() && at_server_ == End::kOpen && !black_hole_) {
    on_their_way_.push_back(std::move(commands));
    ++in_flight_;
    last_to_server_ = std::max(last_to_server_, world_.now() + latency());
    world_.at(last_to_server_, [self = shared_from_this()] {
      --self->in_flight_;
      if (self->on_their_way_.empty() || self->black_hole_) return;
      std::vector<Command> arrived = std::move(self->on_their_way_.front());
      self->on_their_way_.pop_front();
      self->server_.arrived(self, std::move(arrived));
    });
  }
  return {net::Io::kDone, bytes, {}};
}

void Wire::deliver_now() {
  for (std::vector<Command>& commands : std::exchange(on_their_way_, {})) {
    server_.arrived(shared_from_this(), std::move(commands));
  }
}

// A closed socket still delivers what was written; a reset one throws it away.
void Wire::close(bool reset) {
  if (at_client_ == End::kClosed) return;
  at_client_ = End::kClosed;
  inbox_.clear();
  if (!reset && !black_hole_) deliver_now();
  on_their_way_.clear();
  at_server_ = End::kClosed;
}

void Wire::reply(std::string bytes) {
  if (at_client_ != End::kOpen || broken_ || black_hole_) return;
  ++in_flight_;
  const bool split = world_.random.chance(weather_.partial_per_mille) && bytes.size() > 1;
  const std::size_t first = split ? 1 + world_.random.below(bytes.size() - 1) : bytes.size();
  last_to_client_ = std::max(last_to_client_, world_.now() + latency());
  world_.at(last_to_client_, [self = shared_from_this(), part = bytes.substr(0, first)] {
    --self->in_flight_;
    self->arrive(part);
  });
  if (!split) return;
  ++in_flight_;
  last_to_client_ += latency();
  world_.at(last_to_client_, [self = shared_from_this(), part = bytes.substr(first)] {
    --self->in_flight_;
    self->arrive(part);
  });
}

void Wire::arrive(std::string bytes) {
  if (at_client_ == End::kOpen && !broken_ && !black_hole_) inbox_ += bytes;
}

void Wire::cut(bool executed) {
  if (executed && at_server_ == End::kOpen) deliver_now();
  on_their_way_.clear();
  at_server_ = End::kClosed;
  broken_ = true;
}

bool Wire::ready(const net::Interest& interest) const {
  if (broken_ && (interest.read || interest.write || interest.hangup)) return true;
  if (interest.read && !inbox_.empty()) return true;
  return interest.write && writable();
}

bool Wire::writable() const {
  if (at_client_ == End::kConnecting) return refused_;
  return world_.now() >= blocked_until_;
}

std::unique_ptr<net::Transport> Network::open(const std::string& owner) {
  wires_.push_back(
      std::make_shared<Wire>(world_, weather, server_, static_cast<int>(wires_.size()), owner));
  world_.say(owner, " connects, wire ", std::to_string(wires_.size() - 1));
  return std::make_unique<WireTransport>(*this, wires_.back());
}

bool Network::ready(const net::Interest& interest) const {
  if (interest.fd > kFirstDescriptor) return false;
  return wires_[static_cast<std::size_t>(kFirstDescriptor - interest.fd)]->ready(interest);
}

std::vector<std::shared_ptr<Wire>> Network::open_wires() const {
  std::vector<std::shared_ptr<Wire>> open;
  std::copy_if(wires_.begin(), wires_.end(), std::back_inserter(open),
               [](const auto& wire) { return wire->open_at_server(); });
  return open;
}

}  // namespace holdfast::simulation
