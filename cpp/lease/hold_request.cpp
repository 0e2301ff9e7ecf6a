#include "lease/hold_request.h"

#include "lease/watchdog.h"

namespace holdfast::lease {

resp::ReplyKinds HoldRequest::encode(std::string& out, bool by_text) const {
  script::Writer writer(out, by_text);
  const std::shared_ptr<Watchdog> to = watchdog_.lock();
  if (!to || !hold_->sending.write()) {
    hold_->renewal->renew(writer, {}, hold_->sent_lease);  // of nothing
  } else {
    hold_->renewal->check(writer, hold_->name, owner_field(to->client_id(), hold_->owner));
  }
  return writer.replies();
}

void HoldRequest::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (const std::shared_ptr<Watchdog> to = watchdog_.lock()) to->answered(*hold_, reply, sent);
}

}  // namespace holdfast::lease
