#include "support/world.h"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

Duration Random::between(Duration least, Duration most) {
  const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
  return least + Duration(static_cast<Duration::rep>(below(span)));
}

void World::at(TimePoint when, std::function<void()> what) {
  events_.push(
      {std::max(when, now_), ++numbers_, std::make_shared<std::function<void()>>(std::move(what))});
}

bool World::run_one_due() {
  if (next() > now_) return false;
  const auto what = events_.top().what;
  events_.pop();
  (*what)();
  return true;
}

void World::write_down(const std::string& line) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(
      now_ - TimePoint(std::chrono::hours(1)));
  std::string time = std::to_string(since.count());
  time.insert(0, time.size() < 10 ? 10 - time.size() : 0, ' ');
  diary.push_back(time + " us  " + line);
}

void SteppedLoop::drive(std::shared_ptr<net::Pollable> pollable) {
  const auto known = std::find_if(driven_.begin(), driven_.end(),
                                  [&](const Driven& d) { return d.pollable == pollable; });
  if (known != driven_.end()) {
    known->asked = true;
  } else {
    driven_.push_back({std::move(pollable)});
  }
}

void SteppedLoop::drive_at(std::shared_ptr<net::Pollable> pollable, TimePoint at) {
  const auto known = std::find_if(driven_.begin(), driven_.end(),
                                  [&](const Driven& d) { return d.pollable == pollable; });
  if (stepping_ || known == driven_.end()) return drive(std::move(pollable));
  known->interest.until = std::min(known->interest.until, at);
}

std::vector<std::size_t> SteppedLoop::able() const {
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < driven_.size(); ++i) {
    const Driven& driven = driven_[i];
    if (driven.asked || driven.interest.until <= world_.now() || network_.ready(driven.interest)) {
      ready.push_back(i);
    }
  }
  return ready;
}

bool SteppedLoop::step_one() {
  const std::vector<std::size_t> ready = able();
  if (ready.empty()) return false;
  step(driven_[ready[world_.random.below(ready.size())]].pollable);
  return true;
}

void SteppedLoop::step(const std::shared_ptr<net::Pollable>& pollable) {
  const std::shared_ptr<net::Pollable> self = pollable;
  const auto find = [&] {
    return std::find_if(driven_.begin(), driven_.end(),
                        [&](const Driven& d) { return d.pollable == self; });
  };
  find()->asked = false;
  stepping_ = true;
  const net::Interest interest = self->step(world_.now());
  stepping_ = false;
  const auto driven = find();
  if (interest.done && !driven->asked) {
    driven_.erase(driven);
  } else {
    driven->interest = interest.done ? net::Interest{} : interest;
  }
}

void SteppedLoop::run(Duration time) {
  const TimePoint end = world_.now() + time;
  for (;;) {
    if (world_.run_one_due() || step_one()) continue;
    if (world_.now() >= end) return;
    world_.advance_to(std::min({world_.next(), next(), end}));
  }
}

std::vector<TimePoint> SteppedLoop::moments() const {
  std::vector<TimePoint> all;
  for (const Driven& driven : driven_) {
    if (driven.interest.until != kNever) all.push_back(driven.interest.until);
  }
  return all;
}

TimePoint SteppedLoop::next() const {
  TimePoint soonest = kNever;
  for (const Driven& driven : driven_) soonest = std::min(soonest, driven.interest.until);
  return soonest;
}

}  // namespace holdfast::simulation
