#include "redis/client/reader_election.h"

#include <algorithm>

namespace holdfast::client {

ReaderElection::Entry ReaderElection::enter(Place& thread, bool something) {
  const bool from_loop = reader_ == Reader::kLoop && replaces_loop_;
  if (something && (from_loop || reader_ == Reader::kNone)) {
    enter_directly(*thread.parker);
    return {true, {nullptr, from_loop}};
  }
  thread.at = parked_.insert(parked_.end(), &thread);
  thread.linked.store(true, std::memory_order_relaxed);
  return {};
}

void ReaderElection::unlink(Place& thread) {
  if (called_ == thread.parker) called_ = nullptr;
  if (thread.linked.load(std::memory_order_relaxed)) parked_.erase(thread.at);
}

ReaderElection::Action ReaderElection::leave(TimePoint unread_until) {
  leave();
  unread_until_ = unread_until;
  return {nullptr, false, unread_until};
}

void ReaderElection::reply() {
  for (auto each = parked_.begin(); each != parked_.end();) {
    Place& thread = **each++;
    if (!thread.control->done.load(std::memory_order_acquire)) continue;
    unlink(thread);
    thread.linked.store(false, std::memory_order_release);
  }
}

ReaderElection::Action ReaderElection::submit(Parker* preferred) {
  if (preferred == nullptr && !parked_.empty()) preferred = parked_.front()->parker;
  if (preferred == nullptr) return {nullptr, true};
  return call([preferred](const Place& each) { return each.parker == preferred; });
}

ReaderElection::Action ReaderElection::leave_unread(TimePoint now) {
  if (unread_until_ != kNever) return {};
  unread_until_ = after(now, kUnread);
  return {nullptr, false, unread_until_};
}

ReaderElection::Action ReaderElection::expect(TimePoint now) {
  if (reader_ != Reader::kNone) return {};
  if (parked_.empty()) return loop_reads();
  Action action = wake(*parked_.front()->parker);
  unread_until_ = std::min(unread_until_, after(now, kUnread));
  action.drive_at = unread_until_;
  return action;
}

ReaderElection::Action ReaderElection::tick(TimePoint now, bool wanted) {
  if (!unread_too_long(now)) return {};
  if (!parked_.empty()) {
    unread_until_ = after(now, kUnread);
    return wake(*parked_.front()->parker);
  }
  if (wanted) {
    reader_ = Reader::kLoop;
  } else {
    unread_until_ = kNever;
  }
  return {};
}

ReaderElection::Action ReaderElection::change_stream() {
  if (reader_ == Reader::kNone && replaces_loop_) reader_ = Reader::kLoop;
  return {reading_};
}

ReaderElection::Action ReaderElection::loop_reads() {
  const Action action{reading_, true};
  reading_ = nullptr;
  reader_ = Reader::kLoop;
  return action;
}

ReaderElection::Action ReaderElection::reclaim() {
  reader_ = Reader::kLoop;
  return {nullptr, true};
}

ReaderElection::Action ReaderElection::interrupt() const {
  const bool by_loop = reader_ == Reader::kLoop || reader_ == Reader::kEventLoop;
  return {reading_, by_loop};
}

}  // namespace holdfast::client
