#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/request.h"
#include "lease/hold.h"

namespace holdfast::lease {

class Watchdog;

// The check of one hold. Renewals go out in a RenewalBatch.
class HoldRequest final : public client::Request {
 public:
  // `until`: it is given up.
  HoldRequest(std::weak_ptr<Watchdog> watchdog, HoldPtr hold, TimePoint until)
      : watchdog_(std::move(watchdog)), hold_(std::move(hold)) {
    impatient = true;
    deadline = until;
  }

  std::string_view key() const override { return hold_->name.bytes(); }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  const std::weak_ptr<Watchdog> watchdog_;
  const HoldPtr hold_;
};

}  // namespace holdfast::lease
