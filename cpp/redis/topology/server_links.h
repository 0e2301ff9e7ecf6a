#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "redis/topology/replacement.h"
#include "redis/topology/topology.h"

namespace holdfast::topology {

// The connections of one client to one server: for each kind of traffic, and for pub/sub. Each
// connects on first use. Thread-safe.
class ServerLinks {
 public:
  // Completes the settings of the connection for that traffic.
  using Complete = std::function<void(client::ConnectionSetup&, Traffic)>;

  // `setup.link` leads to the server. Where another one has its place behind that address, which
  // `is_sign` shows, the connections move (Replacement); empty: READONLY does. The loss of the
  // connection for confirmations, which hold nothing, is not reported to `setup.on_lost`.
  ServerLinks(const Clock& clock, const Loops& loops, const Setup& setup,
              const Complete& complete = {}, Replacement::IsSign is_sign = {});

  const std::shared_ptr<client::Connection>& connection(Traffic traffic) const {
    return all_->connections[traffic];
  }
  const std::shared_ptr<client::Subscriber>& subscriber() const { return all_->subscriber; }

  // The server is at `to` from now on. Holds are verified first: other clients may get the locks as
  // soon as calls are sent.
  void move(const Result<net::Address>& to) const;

  void review() const;                                              // as Connection's
  std::size_t reauthenticate(const client::LoginPtr& login) const;  // as Topology's
  void decommission() const;                                        // as Connection's
  void close(const Status& why) const;

 private:
  struct All {
    void move(const Result<net::Address>& to) const;

    std::shared_ptr<Replacement> replacement{};  // null: what names the server says when it moves
    PerTraffic<std::shared_ptr<client::Connection>> connections{};
    std::shared_ptr<client::Subscriber> subscriber{};
    std::function<void()> verify{};
  };

  std::shared_ptr<All> all_;
};

// A topology of which one server answers for all keys: a server by itself, a proxy in front of
// several, or the primary of a service.
class SingleServer : public Topology {
 public:
  SingleServer(ServerLinks links, std::string text, client::PubSub mode)
      : links_(std::move(links)), text_(std::move(text)), publish_(publish_command_of(mode)) {}

  std::shared_ptr<client::Connection> route(std::string_view /*key*/, Traffic traffic) override {
    return links_.connection(traffic);
  }
  void subscribe(const std::string& channel) override { links_.subscriber()->subscribe(channel); }
  void release(const std::string& channel, Duration linger) override {
    links_.subscriber()->release(channel, linger);
  }
  std::shared_ptr<client::Subscriber> subscriber(const std::string& /*channel*/) override {
    return links_.subscriber();
  }
  std::string_view publish_command() const override { return publish_; }
  std::string text() const override { return text_; }
  std::size_t reauthenticate(const client::LoginPtr& login) override {
    return links_.reauthenticate(login);
  }
  void close(const Status& why) override { links_.close(why); }

 protected:
  const ServerLinks links_;

 private:
  const std::string text_;
  const char* const publish_;
};

}  // namespace holdfast::topology
