#include "redis/client/request_queue.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "redis/base/stats.h"
#include "redis/client/unknown_command.h"
#include "redis/resp/command.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

namespace {

std::uint64_t next_stream() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

std::string misfit(const resp::Reply& reply) {
  return "sent " + std::string(resp::word_for(reply.kind())) +
         " that cannot be the reply to its command";
}

RequestQueue::RequestQueue(std::shared_ptr<ReportSink> reports)
    : reports_(std::move(reports)), stream_(next_stream()) {}

TimePoint RequestQueue::first_sent() const {
  return sent_ == 0 ? kNever : entries_.front().what.sent.last;
}

bool RequestQueue::has_awaited() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& e) { return e.what.request && !e.what.request->deferred; });
}

void RequestQueue::add(InFlightRequest unanswered) {
  next_overdue_ = std::min(next_overdue_, unanswered.request->deadline);
  entries_.push_back({std::move(unanswered)});
  entries_.back().failures_before = failures_;
}

void RequestQueue::put_behind(std::size_t ahead, InFlightRequest unanswered, Way way,
                              resp::ReplyKinds replies) {
  next_overdue_ = std::min(next_overdue_, unanswered.request->deadline);
  const auto place =
      entries_.begin() + static_cast<std::ptrdiff_t>(std::min(ahead, entries_.size()));
  entries_.insert(place, {std::move(unanswered), 0, way == Way::kWritten, replies, failures_});
  sent_ += way == Way::kUnsent ? 0 : 1;
}

int RequestQueue::send(std::string& out, TimePoint now) {
  int commands = 0;
  while (sent_ < entries_.size()) {
    Entry& entry = entries_[sent_];
    if (entry.what.request->abandoned()) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(sent_));
      continue;
    }
    entry.extra = entry.what.by_text ? entry.what.request->preload(out) : 0;
    if (entry.what.asking) out += resp::Command({"ASKING"}).bytes();
    entry.extra += entry.what.asking ? 1 : 0;
    entry.written = false;
    entry.what.sent.last = now;
    if (++entry.what.sent.times > 1) ResendTrace::record(entry.what.request->subject());
    entry.what.sent.stream = stream_;
    entry.what.sent.tracked = tracked_;
    entry.replies = entry.what.request->encode(out, entry.what.by_text);
    ++sent_;
    commands += 1 + entry.extra;
  }
  return commands;
}

std::optional<std::size_t> RequestQueue::replies_before(const Request& request) const {
  std::size_t before = 0;
  for (std::size_t i = 0; i < sent_; ++i) {
    before += static_cast<std::size_t>(entries_[i].extra);
    if (entries_[i].what.request.get() == &request) return before;
    ++before;
  }
  return std::nullopt;
}

InFlightRequest RequestQueue::take_first(const net::Address& from) {
  InFlightRequest first = std::move(entries_.front().what);
  if (first.sent.repeated) report_resolved(first, from);
  entries_.pop_front();
  --sent_;
  return first;
}

RequestQueue::Taken RequestQueue::take(resp::Reply&& reply, const net::Address& from,
                                       Deliveries& deliveries) {
  if (sent_ == 0) return Taken::kUnasked;
  Entry& entry = entries_.front();
  if (entry.extra > 0) {
    --entry.extra;
    return Taken::kTaken;
  }
  if (!entry.replies.allow(reply)) {
    constexpr int kMostMisfits = 2;
    if (++entry.what.misfits >= kMostMisfits) {
      const std::string why = from.text() + " " + misfit(reply) + ", twice";
      add_answer(entry, Status::unreachable(why), deliveries);
    }
    return Taken::kMismatched;
  }
  if (failures_ > 0) {  // they were in a row no longer
    failures_ = 0;
    for (Entry& each : entries_) each.failures_before = 0;
  }
  const bool refused = reply.is_error() && entry.what.request;
  if (refused) {
    auto named = named_unknown_command(*entry.what.request, reply);
    if (named) reply = std::move(*named);
  }
  // An error says itself what became of the command, or that another server is to get it.
  if (entry.what.sent.repeated && !reply.is_error()) report_resolved(entry.what, from);
  if (refused && !entry.what.by_text && resp::is_unknown_script(reply.text())) {
    take_unknown(std::move(entry.what), std::move(reply), deliveries);
  } else {
    add_answer(entry, std::move(reply), deliveries);
  }
  entries_.pop_front();
  --sent_;
  return Taken::kTaken;
}

void RequestQueue::take_unknown(InFlightRequest unanswered, resp::Reply&& reply,
                                Deliveries& deliveries) {
  const RequestPtr request = unanswered.request;
  if (request->abandoned() || request->sends_text == Request::SendsText::kNever) {
    return deliveries.push_back({std::move(unanswered), std::move(reply)});
  }
  --unanswered.sent.times;
  unanswered.fresh = unanswered.by_text = true;
  if (unanswered.barred()) {
    return deliveries.push_back({std::move(unanswered), Status::revoked()});
  }
  add(std::move(unanswered));
  if (RequestPtr behind = request->follow_up()) add({std::move(behind)});
}

void RequestQueue::report_resolved(const InFlightRequest& unanswered, const net::Address& from) {
  if (!reports_ || !unanswered.request || unanswered.request->subject().empty()) return;
  const std::string key(unanswered.request->subject());
  reports_->report({Report::Kind::kResolved, key, {}, from.text()});
}

template <typename Stays>
void RequestQueue::answer_others(const Stays& stays, const Status& why, Deliveries& deliveries) {
  std::deque<Entry> kept;
  for (Entry& entry : entries_) {
    if (stays(entry)) {
      kept.push_back(std::move(entry));
    } else {
      add_answer(entry, why, deliveries);
    }
  }
  entries_ = std::move(kept);
}

void RequestQueue::attempt_failed(int retries, const Status& why, Deliveries& deliveries) {
  ++failures_;
  const auto stays = [&](const Entry& entry) {
    const Request* const request = entry.what.request.get();
    const bool persistent = request != nullptr && request->persistent;
    const int most = request != nullptr && request->impatient ? 0 : retries;
    return persistent || failures_ - entry.failures_before <= most;
  };
  answer_others(stays, why, deliveries);
}

void RequestQueue::broken() {
  for (std::size_t i = 0; i < sent_; ++i) entries_[i].what.sent.repeated = true;
  forget_unwanted(0, sent_);
  sent_ = 0;
  stream_ = next_stream();
}

void RequestQueue::forget_unwanted(std::size_t from, std::size_t to) {
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(to);
  const auto unwanted = [](const Entry& e) {
    return !e.what.request || e.what.request->abandoned();
  };
  entries_.erase(std::remove_if(begin, end, unwanted), end);
}

void RequestQueue::drop_overdue(TimePoint now, const Status& why, Deliveries& deliveries) {
  if (now < next_overdue_) return;
  next_overdue_ = kNever;
  forget_unwanted(sent_, entries_.size());
  std::deque<Entry> kept;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const RequestPtr& request = entry.what.request;
    if (request && request->deadline <= now) add_answer(entry, why, deliveries);
    if (request) next_overdue_ = std::min(next_overdue_, request->deadline);
    if (request || i < sent_) kept.push_back(std::move(entry));
  }
  entries_ = std::move(kept);
}

TimePoint RequestQueue::connect_deadline(const Entry& entry) {
  return entry.what.request ? entry.what.request->connect_deadline : kNever;
}

TimePoint RequestQueue::next_connect_deadline() const {
  TimePoint next = kNever;
  for (const Entry& entry : entries_) next = std::min(next, connect_deadline(entry));
  return next;
}

// Without a stream no request is on the wire.
void RequestQueue::drop_connect_overdue(TimePoint now, const Status& why, Deliveries& deliveries) {
  answer_others([&](const Entry& each) { return connect_deadline(each) > now; }, why, deliveries);
}

bool RequestQueue::only_awaits_login() const {
  return std::all_of(entries_.begin(), entries_.end(), awaits_login);
}

void RequestQueue::fail(const Status& why, bool persistent_too, Deliveries& deliveries) {
  const auto stays = [&](const Entry& each) {
    return each.what.request && each.what.request->persistent && !persistent_too;
  };
  answer_others(stays, why, deliveries);
  sent_ = 0;
}

void RequestQueue::login_refused(const Status& why, Deliveries& deliveries) {
  answer_others(awaits_login, why, deliveries);
  sent_ = 0;
}

std::vector<InFlightRequest> RequestQueue::take_all() {
  broken();
  std::vector<InFlightRequest> all;
  for (Entry& entry : entries_) all.push_back(std::move(entry.what));
  entries_.clear();
  return all;
}

// The entry keeps its place, without its request.
void RequestQueue::add_answer(Entry& entry, Result<resp::Reply> reply, Deliveries& deliveries) {
  if (!entry.what.request) return;
  deliveries.push_back({std::move(entry.what), std::move(reply)});
}

}  // namespace holdfast::client
