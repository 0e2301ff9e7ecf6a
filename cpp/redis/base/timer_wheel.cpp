#include <algorithm>

#include "redis/base/clock.h"
#include "redis/base/digits.h"

namespace holdfast {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(1);

}  // namespace

TimerWheel::TimerWheel(TimePoint start) : start_(start) {
  static_assert(kNever.time_since_epoch() / kTick >> (kBlockBits + kFarLevels * kDigitBits) == 0,
                "the far levels reach to the end of time");
}

TimerWheel::~TimerWheel() {
  for (Timer* first : slots_) {
    for (Timer* timer = first; timer != nullptr;) {
      Timer* const next = timer->next_;
      timer->wheel_ = nullptr;
      timer = next == first ? nullptr : next;
    }
  }
}

void TimerWheel::arm(Timer& timer, TimePoint at) {
  timer.disarm();
  timer.at_ = at;
  link(timer);
}

Timer* TimerWheel::pop_due(TimePoint now) {
  const Tick target = tick_at_or_before(now);
  for (;;) {
    const Tick near = first_near();
    if (near <= target) {
      advance_to(near);
      Timer* const timer = slots_[slot_of(near)];
      unlink(*timer);
      return timer;
    }
    if (current_ >= target) return nullptr;
    advance_to(std::min(target, first_far()));
  }
}

TimePoint TimerWheel::next() const {
  constexpr Tick kLast = static_cast<Tick>(Duration::max() / kTick);
  const Tick tick = std::min(first_near(), first_far());
  return tick > kLast ? kNever : after(start_, kTick * static_cast<Duration::rep>(tick));
}

TimerWheel::Tick TimerWheel::tick_at_or_before(TimePoint at) const {
  return at <= start_ ? 0 : static_cast<Tick>((at - start_) / kTick);
}

std::size_t TimerWheel::slot_of(Tick tick) const {
  const Tick block = tick >> kBlockBits;
  if (block <= last_near_block()) return tick % kNearSlots;
  const std::size_t level = highest_bit(block ^ last_near_block()) / kDigitBits;
  const Tick digit = (block >> (level * kDigitBits)) % 64;
  return kNearSlots + level * 64 + digit;
}

TimerWheel::Tick TimerWheel::first_near() const {
  const std::size_t here = current_ % kNearSlots;
  for (std::size_t i = 0; i < kNearWords; ++i) {
    const std::size_t word = (here / 64 + i) % kNearWords;
    if (occupied_[word] == 0) continue;
    const std::size_t slot = word * 64 + lowest_bit(occupied_[word]);
    return current_ + (slot - here) % kNearSlots;
  }
  return kNoTick;
}

TimerWheel::Tick TimerWheel::first_far() const {
  for (std::size_t level = 0; level < kFarLevels; ++level) {
    const std::uint64_t word = occupied_[kNearWords + level];
    if (word == 0) continue;
    const std::size_t shift = level * kDigitBits;
    const Tick above = last_near_block() >> (shift + kDigitBits) << kDigitBits;
    return ((above | lowest_bit(word)) << shift) << kBlockBits;
  }
  return kNoTick;
}

// No timer is due before `tick`, and `tick` is not after first_far(): at most one far slot comes
// near.
void TimerWheel::advance_to(Tick tick) {
  for (;;) {
    const Tick far = first_far();
    if (far == kNoTick || far >> kBlockBits > (tick >> kBlockBits) + 1) break;
    Timer*& head = slots_[slot_of(far)];
    // One block short of it, the slot's first block is a near one, and its timers move down.
    current_ = std::max(current_, ((far >> kBlockBits) - 1) << kBlockBits);
    while (Timer* const timer = head) {
      unlink(*timer);
      link(*timer);
    }
  }
  current_ = tick;
}

void TimerWheel::link(Timer& timer) {
  timer.wheel_ = this;
  ++size_;
  const Tick before = tick_at_or_before(timer.at_);
  const bool later = timer.at_ - start_ > kTick * static_cast<Duration::rep>(before);
  const Tick tick = std::max(later ? before + 1 : before, current_);
  timer.slot_ = static_cast<std::uint32_t>(slot_of(tick));
  Timer*& first = slots_[timer.slot_];
  if (first == nullptr) {
    timer.next_ = timer.previous_ = first = &timer;
    occupied_[timer.slot_ / 64] |= std::uint64_t{1} << (timer.slot_ % 64);
    return;
  }
  timer.next_ = first;
  timer.previous_ = first->previous_;
  first->previous_->next_ = &timer;
  first->previous_ = &timer;
}

void TimerWheel::unlink(Timer& timer) {
  Timer*& first = slots_[timer.slot_];
  if (timer.next_ == &timer) {
    first = nullptr;
    occupied_[timer.slot_ / 64] &= ~(std::uint64_t{1} << (timer.slot_ % 64));
  } else {
    timer.next_->previous_ = timer.previous_;
    timer.previous_->next_ = timer.next_;
    if (first == &timer) first = timer.next_;
  }
  timer.wheel_ = nullptr;
  --size_;
}

}  // namespace holdfast
