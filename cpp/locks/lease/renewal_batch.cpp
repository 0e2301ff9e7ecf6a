#include "locks/lease/renewal_batch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "locks/lease/hold.h"
#include "locks/lease/watchdog.h"

namespace holdfast::lease {

void RenewalBatch::add(HoldPtr hold, TimePoint until) {
  deadline = std::min(deadline, until);
  // The client's key is removed by a call, behind which neither it nor its script's text may come.
  with_calls = hold->internal;
  if (with_calls) sends_text = SendsText::kAlways;
  holds_.push_back(std::move(hold));
}

std::string_view RenewalBatch::key() const { return holds_.front()->name.bytes(); }

// Without holds, all of which were released meanwhile, the script does nothing.
resp::ReplyKinds RenewalBatch::encode(std::string& out, bool by_text) const {
  sent_.clear();
  sent_.reserve(holds_.size());
  for (std::size_t i = 0; i < holds_.size(); ++i) {
    if (holds_[i]->sending.write()) sent_.push_back(i);
  }
  const std::shared_ptr<Watchdog> to = watchdog_.lock();
  const std::string_view client = to ? std::string_view(to->client_id()) : std::string_view();
  HoldFields fields;
  fields.reserve(sent_.size());
  for (const std::size_t i : sent_) {
    const Hold& hold = *holds_[i];
    fields.push_back({&hold.name, {client, hold.owner}});
    if (hold.internal) fields.back().about = hold.extras->about;
  }
  script::Writer writer(out, by_text);
  common.renewal->renew(writer, fields, common.lease);
  return writer.replies();
}

void RenewalBatch::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (const std::shared_ptr<Watchdog> to = watchdog_.lock()) to->answered(*this, reply, sent);
}

RenewalBatch::Found RenewalBatch::found(const Result<resp::Reply>& reply) const {
  Found all(holds_.size());
  if (!reply.ok() || !reply.value().is_array()) return all;
  const std::vector<std::int64_t> each = common.renewal->renewed(reply.value(), sent_.size());
  for (std::size_t i = 0; i < sent_.size(); ++i) all[sent_[i]] = each[i];
  return all;
}

resp::ReplyKinds HoldRequest::encode(std::string& out, bool by_text) const {
  script::Writer writer(out, by_text);
  const std::shared_ptr<Watchdog> to = watchdog_.lock();
  if (!to || !hold_->sending.write()) {
    hold_->renewal->renew(writer, {}, hold_->sent_lease);  // renews nothing
  } else {
    hold_->renewal->check(writer, hold_->name, owner_field(to->client_id(), hold_->owner));
  }
  return writer.replies();
}

void HoldRequest::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (const std::shared_ptr<Watchdog> to = watchdog_.lock()) to->answered(*hold_, reply, sent);
}

void RenewalBatches::add(const Due& due, std::optional<topology::Slot> slot) {
  const HoldPtr& hold = due.hold;
  const RenewalBatch::Common common{hold->renewal, hold->sent_lease, slot};
  if (hold->alone) return begin(common, 1)->add(hold, due.until);
  BatchPtr& batch = open_[common];
  const std::size_t most = std::max<std::size_t>(most_keys_ / hold->renewal->renewed_keys(), 1);
  if (!batch || batch->full()) batch = begin(common, most);
  batch->add(hold, due.until);
}

RenewalBatches::BatchPtr RenewalBatches::begin(const RenewalBatch::Common& common,
                                               std::size_t most) {
  return all_.emplace_back(std::make_shared<RenewalBatch>(watchdog_, common, most));
}

}  // namespace holdfast::lease
