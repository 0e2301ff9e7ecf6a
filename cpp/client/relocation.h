#pragma once

#include <optional>
#include <utility>

#include "base/status.h"
#include "net/endpoint.h"

namespace holdfast::client {

// The orders to leave a server, which any thread gives and the reader of the stream carries out:
// another address, a review of who answers the requests in line, and the end of the server. With
// the connection's lock held.
class Relocation {
 public:
  void move(Result<net::Address> to) { move_ = std::move(to); }
  bool moves() const { return move_.has_value(); }
  Result<net::Address> take_move() {
    Result<net::Address> to = std::move(*move_);
    move_.reset();
    return to;
  }

  void review() { review_ = true; }
  bool reviews() const { return review_; }
  bool take_review() { return std::exchange(review_, false); }

  // The server has left its place: all that is in line, and all that comes, goes elsewhere.
  void decommission() { decommissioned_ = review_ = true; }
  bool decommissioned() const { return decommissioned_; }

  // The reader has an order to carry out.
  bool pending() const { return move_ || review_; }

 private:
  std::optional<Result<net::Address>> move_;
  bool review_ = false;
  bool decommissioned_ = false;
};

}  // namespace holdfast::client
