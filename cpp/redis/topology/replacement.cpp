#include "redis/topology/replacement.h"

#include <utility>

#include "redis/client/backoff.h"

namespace holdfast::topology {

using client::ReconnectingStream;

namespace {

constexpr Millis kLately{60'000};
constexpr Millis kSeldom{10'000};
// How long refusals last until the name is resolved, and between two resolutions.
constexpr Millis kResolve{1000};

// One connection, which asks only what the server is.
client::StreamOptions bare(client::StreamOptions link) {
  link.label = {};
  link.also_sent.clear();
  link.witness = {};
  link.tracking = client::TrackingMode::kOff;
  link.signs = {};
  link.asks_role = true;
  return link;
}

}  // namespace

void LookRate::ended(TimePoint now) {
  const bool lately = since_ == kNever || now < after(since_, kLately);
  next_ = after(now, lately ? client::backoff_after(++looks_, now) : Duration(kSeldom));
}

Replacement::Replacement(const Clock& clock, net::Loop& loop, client::StreamOptions link,
                         IsSign is_sign, ReconnectingStream::Open open)
    : clock_(clock),
      loop_(loop),
      is_sign_(std::move(is_sign)),
      link_(bare(std::move(link)), std::move(open)) {}

void Replacement::start(Actions actions) {
  const MutexLock lock(mutex_);
  actions_ = std::move(actions);
}

void Replacement::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  actions_ = {};
  loop_.drive(shared_from_this());
}

std::uint64_t Replacement::report() {
  const TimePoint now = clock_.now();
  const MutexLock lock(mutex_);
  if (closed_ || looks_) return looks_ ? look_ : 0;
  rate_.wish(now);
  loop_.drive(shared_from_this());
  return rate_.due(now) ? look_ + 1 : 0;
}

bool Replacement::over(std::uint64_t look) const {
  const MutexLock lock(mutex_);
  return closed_ || look_ > look || (look_ == look && !looks_);
}

void Replacement::accepted() {
  const MutexLock lock(mutex_);
  rate_.accepted();
}

net::Interest Replacement::step(TimePoint now) {
  if (!begins(now)) {
    const MutexLock lock(mutex_);
    return rest(now);
  }
  const Found found = look(now);
  if (found == Found::kNothingYet) return link_.interest();
  net::Interest next;
  Actions actions;
  {
    const MutexLock lock(mutex_);
    looks_ = false;
    rate_.ended(now);
    next.until = rate_.until();
    next.done = next.until == kNever;
    actions = actions_;
  }
  const auto& act = found == Found::kServer ? actions.replace : actions.stay;
  if (act) act();
  return next;
}

// Whether a look is under way.
bool Replacement::begins(TimePoint now) {
  const MutexLock lock(mutex_);
  if (closed_ || looks_) return !closed_;
  if (!rate_.due(now)) return false;
  looks_ = true;
  ++look_;
  rate_.begin();
  tried_ = 0;
  leave_address();
  return true;
}

// No look is under way.
net::Interest Replacement::rest(TimePoint now) {
  if (closed_) {
    link_.close();
    resolution_.reset();
  } else {
    resolve(now);
  }
  net::Interest next;
  next.until = closed_ ? kNever : rate_.until();
  if (resolution_) next.fd = resolution_->fd();
  next.read = resolution_ != nullptr;
  next.done = next.until == kNever && !next.read;
  return next;
}

void Replacement::resolve(TimePoint now) {
  if (!resolution_ && resolves_ && now >= after(resolved_, kResolve)) {
    resolved_ = now;
    resolution_ = net::resolve(link_.options().address);
  }
  if (!resolution_ || !resolution_->done()) return;
  const auto found = std::exchange(resolution_, nullptr)->take();
  resolves_ = false;
  if (!found.ok() || !link_.options().addresses->has_new(name(), found.value())) return;
  rate_.wish(now);
  loop_.drive(shared_from_this());
}

// One after the other, each soon after the one before.
void Replacement::refused_for_now() {
  const TimePoint now = clock_.now();
  const MutexLock lock(mutex_);
  if (closed_) return;
  if (now >= after(refused_last_, kResolve)) refused_first_ = now;
  refused_last_ = now;
  if (now < after(refused_first_, kResolve)) return;
  resolves_ = true;
  loop_.drive(shared_from_this());
}

std::string Replacement::name() const { return link_.options().address.text(); }

// It is tried last from now on.
void Replacement::leave_address() { link_.options().addresses->proved_stale(name()); }

Replacement::Found Replacement::look(TimePoint now) {
  const bool ready = link_.advance(now);
  const bool failed = link_.state() == ReconnectingStream::State::kBackingOff;
  if (!ready && !failed) return Found::kNothingYet;
  const bool replica = ready && link_.greeting().role() == client::Role::kReplica;
  link_.close();
  if (!replica) return ready ? Found::kServer : Found::kNone;
  leave_address();
  if (++tried_ >= link_.options().addresses->count(name())) return Found::kNone;
  return look(now);
}

}  // namespace holdfast::topology
