#include "lease/renewal_batch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "lease/hold_record.h"
#include "lease/watchdog.h"

namespace holdfast::lease {

namespace {

constexpr std::size_t kLongestNumber = 20;  // digits

void append_number(std::string& field, OwnerNumber owner) {
  std::array<char, kLongestNumber> digits;
  const char* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint64_t>(owner))
          .ptr;
  field.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

void RenewalBatch::add(HoldPtr hold, TimePoint until) {
  deadline = std::min(deadline, until);
  holds_.push_back(std::move(hold));
}

std::string_view RenewalBatch::key() const { return holds_.front()->name.bytes(); }

// Without holds, all of which were released meanwhile, the script does nothing.
resp::ReplyKinds RenewalBatch::encode(std::string& out) const {
  sent_.clear();
  sent_.reserve(holds_.size());
  for (std::size_t i = 0; i < holds_.size(); ++i) {
    if (!holds_[i]->stopped.load(std::memory_order_acquire)) sent_.push_back(i);
  }
  const std::shared_ptr<Watchdog> to = watchdog_.lock();
  const std::string client = (to ? to->client_id() : std::string()) + ':';
  std::string owners;  // all of them, in one piece
  owners.reserve(sent_.size() * (client.size() + kLongestNumber));
  HoldFields fields;
  fields.reserve(sent_.size());
  for (const std::size_t i : sent_) {
    const std::size_t begin = owners.size();
    append_number(owners.append(client), holds_[i]->owner);
    fields.push_back({&holds_[i]->name, std::string_view(owners).substr(begin)});
  }
  script::Writer writer(out, common_.by_text);
  common_.renewal->renew(writer, fields, common_.lease);
  return writer.replies();
}

void RenewalBatch::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (const std::shared_ptr<Watchdog> to = watchdog_.lock()) to->answered(*this, reply, sent);
}

RenewalBatch::Found RenewalBatch::found(const Result<resp::Reply>& reply) const {
  Found all(holds_.size());
  if (!reply.ok() || !reply.value().is_array()) return all;
  const std::vector<std::int64_t> each = common_.renewal->renewed(reply.value(), sent_.size());
  for (std::size_t i = 0; i < sent_.size(); ++i) all[sent_[i]] = each[i];
  return all;
}

void RenewalBatches::add(const Due& due, std::optional<topology::Slot> slot) {
  const HoldPtr& hold = due.hold;
  const RenewalBatch::Common common{hold->renewal, hold->sent_lease, hold->by_text, slot};
  BatchPtr one_more;
  BatchPtr& batch = hold->alone ? one_more : open_[common];
  if (!batch || batch->full()) {
    const std::size_t most = hold->alone ? 1 : most_keys_ / hold->renewal->renewed_keys();
    batch = std::make_shared<RenewalBatch>(watchdog_, common, std::max<std::size_t>(most, 1));
    all_.push_back(batch);
  }
  batch->add(hold, due.until);
}

}  // namespace holdfast::lease
