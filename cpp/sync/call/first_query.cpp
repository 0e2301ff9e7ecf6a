#include "sync/call/first_query.h"

#include <string>

namespace holdfast::sync {

FirstStep FirstQuery::begin(TimePoint now, const client::RequestPtr& command) {
  begun_.at = now;
  if (query_.returns) {
    const Query::Return& what = *query_.returns;
    const TimePoint until = what.lease > Millis(0)
                                ? after(now, what.lease)
                                : after(now, context_->command_timeout + what.longer);
    begun_.serial = context_->keeper->releases().take_back(name(), what.owner, command, until);
  }
  FirstStep step;
  step.sends = !query_.held_up || !query_.held_up();
  step.latest = query_.latest(now);
  return step;
}

resp::ReplyKinds FirstQuery::encode(std::string& out, bool by_text) const {
  script::Writer writer = context_->writer(out, by_text);
  query_.encode(writer);
  return writer.replies();
}

std::optional<Outcome> FirstQuery::finish(const resp::Reply& reply, const client::Sent& sent,
                                          wait::Calls& /*calls*/) const {
  if (reply.is_error()) return std::nullopt;
  query_.settle(*context_, begun_.serial);
  return Outcome{Verdict::kGranted, {}, query_.value_of(reply, sent)};
}

// The call stays with the query: its command may have to be sent again.
OperationPtr FirstQuery::operation(bool /*sent*/) const {
  return std::make_shared<QueryOperation>(context_, query_, begun_);
}

}  // namespace holdfast::sync
