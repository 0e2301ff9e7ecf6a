#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redis/net/transport.h"
#include "support/world.h"

namespace holdfast::simulation {

// A command as the server gets it.
struct Command {
  std::vector<std::string> words;
};

// Splits what a client writes into commands.
class CommandParser {
 public:
  // Appends the commands that `bytes` completes.
  void feed(std::string_view bytes, std::vector<Command>& commands);

 private:
  bool next(std::size_t& at, Command& command) const;

  std::string pending_;
};

// How good the network is.
struct Weather {
  unsigned slow_per_mille = 20;  // of the packets,
  Duration slowest = Millis(20);
  unsigned partial_per_mille = 0;  // of the reads and writes: only a part of the bytes
};

class Wire;

// The server's side of all wires.
class Peer {
 public:
  virtual ~Peer() = default;
  // Connections are accepted.
  virtual bool up() const = 0;
  // Commands that a wire has carried, to be answered by wire->reply(), in order.
  virtual void arrived(const std::shared_ptr<Wire>& wire, std::vector<Command> commands) = 0;
  // A client has written a command.
  virtual void watch_departure(const Wire& wire, const Command& command) {
    (void)wire;
    (void)command;
  }
};

// One connection between a client and the server: both its ends and what is between them.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  Wire(World& world, const Weather& weather, Peer& server, int number, std::string owner);

  // The client's end.
  net::IoResult connect();
  net::IoResult read(char* into, std::size_t size);
  net::IoResult write(const char* from, std::size_t size);
  void close(bool reset);
  bool ready(const net::Interest& interest) const;

  // The server's end.
  void reply(std::string bytes);
  std::set<std::string> channels;
  bool open_at_server() const { return at_server_ == End::kOpen; }

  // Faults. `executed`: the server still gets what is on its way.
  void cut(bool executed);
  void black_hole() { black_hole_ = true; }
  bool healthy() const { return at_client_ == End::kOpen && open_at_server() && !black_hole_; }
  bool quiet() const { return in_flight_ == 0 && inbox_.empty(); }

  int number() const { return number_; }
  const std::string& owner() const { return owner_; }  // the client's id

 private:
  enum class End { kConnecting, kOpen, kClosed };

  Duration latency();
  bool writable() const;
  void established();
  void deliver_now();
  void arrive(std::string bytes);

  World& world_;
  const Weather& weather_;
  Peer& server_;
  const int number_;
  const std::string owner_;
  End at_client_ = End::kConnecting;
  End at_server_ = End::kConnecting;
  bool refused_ = false;
  bool broken_ = false;  // the client has yet to find out
  bool black_hole_ = false;
  TimePoint blocked_until_{};  // the client's socket buffer is full
  CommandParser parser_;
  std::deque<std::vector<Command>> on_their_way_;  // to the server
  std::string inbox_;                              // arrived at the client
  int in_flight_ = 0;
  TimePoint last_to_server_{};
  TimePoint last_to_client_{};
};

// All wires, found by their descriptors: negative numbers, which no system call looks at.
class Network final : public Readiness {
 public:
  Network(World& world, Peer& server) : world_(world), server_(server) {}

  std::unique_ptr<net::Transport> open(const std::string& owner);
  bool ready(const net::Interest& interest) const override;
  const std::vector<std::shared_ptr<Wire>>& wires() const { return wires_; }
  std::vector<std::shared_ptr<Wire>> open_wires() const;

  Weather weather;
  // Waits until a descriptor can be read, or for so long: then reads of callers wait for their
  // replies (Transport::await), for kMoment at the longest. Empty: they do not.
  std::function<void(int fd, Duration longest)> wait_for_reply;
  static constexpr Millis kMoment{20};

 private:
  World& world_;
  Peer& server_;
  std::vector<std::shared_ptr<Wire>> wires_;  // all there ever were, by number
};

}  // namespace holdfast::simulation
