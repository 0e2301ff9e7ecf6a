#include "lease/hold_record.h"

#include "lease/watchdog.h"

namespace holdfast::lease {

resp::ReplyKinds Hold::encode(std::string& out) const {
  const std::shared_ptr<Watchdog> to = watchdog.lock();
  const std::string field = to ? owner_field(to->client_id(), owner) : std::string();
  script::Writer writer(out, by_text);
  if (sent_renewal) {
    renewal->renew_either(writer, name, {field, move->other}, sent_lease);
  } else {
    renewal->check(writer, name, field);
  }
  return writer.replies();
}

void Hold::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (const std::shared_ptr<Watchdog> to = watchdog.lock()) to->answered(*this, reply, sent);
}

}  // namespace holdfast::lease
