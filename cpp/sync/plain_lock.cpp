#include "sync/plain_lock.h"

#include <utility>

#include "sync/keys.h"
#include "sync/late_release.h"

namespace holdfast::sync {

namespace {

void append_bulk(std::string& out, std::string_view text) {
  out += '$' + std::to_string(text.size()) + "\r\n";
  out += text;
  out += "\r\n";
}

// The owner's field as an argument of a command. A thread mostly asks for one owner of one client.
std::string_view owner_bulk(const Context& with, OwnerNumber owner) {
  struct Known {
    std::string client_id;
    OwnerNumber owner{};
    std::string bulk;
  };
  thread_local Known known;
  if (known.owner != owner || known.client_id != with.client_id) {
    known = {with.client_id, owner, {}};
    append_bulk(known.bulk, owner_field(with.client_id, owner));
  }
  return known.bulk;
}

// The interrupted thread leaves; the operation goes on as one that was cancelled.
template <typename OperationType>
Waited leave(const std::shared_ptr<OperationType>& operation, PlainRequest& request) {
  if (!request.pass_on(operation)) operation->complete(request.take_reply(), request.sent());
  operation->give_up();
  return {operation, std::nullopt};
}

template <typename OperationType, typename Sending>
Waited hand_over(const std::shared_ptr<OperationType>& operation, const Sending& sending,
                 Interrupt* interrupt) {
  PlainRequest& request = *sending.request;
  if (!sending.answered) {
    Waited left = leave(operation, request);
    if (sending.thrown) std::rethrow_exception(sending.thrown);
    return left;
  }
  operation->complete(request.take_reply(), request.sent());
  return {operation, operation->go_on(interrupt)};
}

}  // namespace

PlainLock::PlainLock(const LockRecipe& recipe, const LockName& name)
    : recipe_(recipe), name_(name), channel_(recipe.channel(name, {}).bytes()) {}

PlainLock::~PlainLock() { delete encoded_.load(); }

const PlainLock::Encoded* PlainLock::encoded(const Context& with, OwnerNumber owner,
                                             Millis lease) const {
  const Encoded* known = encoded_.load(std::memory_order_acquire);
  if (known == nullptr) {
    std::unique_ptr<Encoded> fresh = encode(with, owner, lease);
    if (fresh && encoded_.compare_exchange_strong(known, fresh.get())) known = fresh.release();
  }
  const bool fits = known != nullptr && known->publish == with.topology->publish_command();
  return fits ? known : nullptr;
}

std::unique_ptr<PlainLock::Encoded> PlainLock::encode(const Context& with, OwnerNumber owner,
                                                      Millis lease) const {
  auto fresh = std::make_unique<Encoded>();
  fresh->lease = lease;
  std::string command;
  script::Writer writer = with.writer(command);
  fresh->publish = writer.publish();
  const std::string field = owner_field(with.client_id, owner);
  const std::string_view bulk = owner_bulk(with, owner);
  recipe_.acquire(writer, {name_, field, 1, lease});
  if (!cut(command, bulk, fresh->acquire)) return nullptr;
  fresh->acquire.replies = writer.replies();
  command.clear();
  recipe_.release(writer, {name_, field});
  if (!cut(command, bulk, fresh->release)) return nullptr;
  fresh->release.replies = writer.replies();
  return fresh;
}

// Cuts `bulk` out of a command; false where it is not there once.
bool PlainLock::cut(std::string_view command, std::string_view bulk, Halves& into) {
  const std::size_t at = command.find(bulk);
  if (at == std::string_view::npos || command.rfind(bulk) != at) return false;
  into.head = command.substr(0, at);
  into.tail = command.substr(at + bulk.size());
  return true;
}

// An attempt that looks plain has begun with the keeper; null: it does not.
const PlainLock::Encoded* PlainLock::begin(const Context& with, const Ask& ask,
                                           lease::Attempt& attempt, bool& takes_over) const {
  if (with.acknowledger || !with.waits->idle(channel_)) return nullptr;
  const Encoded* const known = encoded(with, ask.owner, ask.lease.time);
  if (known == nullptr || known->lease != ask.lease.time) return nullptr;
  using Begun = lease::LeaseKeeper::PlainAttempt;
  const Begun begun = with.keeper->begin_plain_attempt(attempt);
  takes_over = begun == Begun::kTakesOver;
  return begun != Begun::kNotBegun ? known : nullptr;
}

PlainLock::Sending PlainLock::send(const Context& with, const Command& command,
                                   Interrupt* interrupt) const {
  std::shared_ptr<PlainRequest> request = PlainRequest::of_this_thread();
  const Halves& halves = command.halves;
  request->prepare(name_.bytes(), {halves.head, owner_bulk(with, command.owner), halves.tail},
                   halves.replies);
  request->deadline = after(command.begun, with.command_timeout);
  request->patience = command.patience;
  const auto connection = with.topology->route(name_.bytes(), topology::Traffic::kCalls);
  Sending sending{std::move(request)};
  try {
    sending.answered = PlainRequest::exchange(sending.request, *connection, with.clock, interrupt);
  } catch (...) {
    sending.thrown = std::current_exception();
  }
  return sending;
}

std::optional<Waited> PlainLock::acquire(const ContextPtr& context, const Ask& ask,
                                         const MakeAcquire& make, Interrupt* interrupt) const {
  const Context& with = *context;
  bool takes_over = false;
  lease::Attempt attempt(*with.keeper, name_, ask.owner);
  const Encoded* const known = begin(with, ask, attempt, takes_over);
  if (known == nullptr) return std::nullopt;
  const TimePoint begun = with.clock.now();
  const TimePoint patience = patience_of(ask.blocking, after(begun, ask.timeout), begun);
  const Sending sending = send(with, {known->acquire, ask.owner, begun, patience}, interrupt);
  const PlainRequest& request = *sending.request;
  Grant grant{begun, request.sent().last};
  const bool granted = sending.answered && is_grant(request, grant);
  if (granted && keep(with, ask, grant, attempt)) return Waited{};
  const auto operation = make(begun);
  operation->adopt(begun, takes_over, std::move(attempt));
  return hand_over(operation, sending, interrupt);
}

bool PlainLock::is_grant(const PlainRequest& answered, Grant& grant) const {
  if (answered.plain()) return !answered.plain()->integer;
  const resp::Reply* const reply = answered.reply();
  if (reply == nullptr || reply->is_error()) return false;
  const Answer answer = recipe_.acquired(*reply);
  grant.token = answer.value;
  return answer.kind == Answer::Kind::kGranted;
}

// False where the client is being closed, or the grant came too late to be trusted.
bool PlainLock::keep(const Context& with, const Ask& ask, const Grant& grant,
                     lease::Attempt& attempt) const {
  const TimePoint now = with.clock.now();
  if (now >= trusted_until(grant.sent, ask.lease.time)) return false;
  const bool kept = with.keeper->granted({name_, ask.owner, 1, ask.lease, grant.sent, &recipe_,
                                          ask.listener, grant.token, Millis(0), now},
                                         attempt);
  if (kept) with.stats->granted(false, now - grant.begun);
  return kept;
}

// Released, and the client need not yield to those who got the message: there are none, or they
// read beside it. See ReleaseOperation::answered().
bool PlainLock::is_released(const PlainRequest& answered) const {
  if (!answered.plain() || !answered.plain()->integer) return false;
  return *answered.plain()->integer <= 1 || recipe_.waiting() == Waiting::kTogether;
}

// Null: its release does not look plain.
const PlainLock::Encoded* PlainLock::for_release(const Context& with) const {
  const Encoded* const known = encoded_.load(std::memory_order_acquire);
  const bool fits = known != nullptr && known->publish == with.topology->publish_command();
  return fits && with.waits->idle(channel_) ? known : nullptr;
}

std::optional<Waited> PlainLock::release(const ContextPtr& context, OwnerNumber owner,
                                         const MakeRelease& make, Interrupt* interrupt) const {
  const Context& with = *context;
  const Encoded* const known = for_release(with);
  if (known == nullptr) return std::nullopt;
  const TimePoint begun = with.clock.now();
  const std::optional<lease::ReleasePlan> plan =
      with.keeper->begin_plain_release(name_, owner, begun);
  if (!plan) return std::nullopt;
  const Sending sending = send(with, {known->release, owner, begun}, interrupt);
  if (sending.answered && is_released(*sending.request)) {
    with.keeper->released(name_, owner, *plan);
    return Waited{};
  }
  const auto operation = make();
  operation->adopt(*plan, begun);
  return hand_over(operation, sending, interrupt);
}

std::optional<Waited> PlainLock::release_deferred(const ContextPtr& context, OwnerNumber owner,
                                                  const MakeRelease& make,
                                                  Interrupt* interrupt) const {
  using Posted = client::Connection::Posted;
  const Context& with = *context;
  const Encoded* const known = for_release(with);
  if (known == nullptr) return std::nullopt;
  const LateRelease::Ptr late = LateRelease::of_this_thread();
  late->prepare(context, {&recipe_, &name_, owner, channel_},
                {known->release.head, owner_bulk(with, owner), known->release.tail},
                known->release.replies);
  const auto connection = with.topology->route(name_.bytes(), topology::Traffic::kCalls);
  const Posted posted = LateRelease::post(late, *connection);
  if (posted == Posted::kRefused) return std::nullopt;
  if (posted == Posted::kWritten) return Waited{};
  const auto operation = make();
  if (!late->pass_on(operation)) return Waited{};
  return Waited{operation, operation->go_on(interrupt)};
}

}  // namespace holdfast::sync
