#include "sync/operation/synchronizer.h"

#include <optional>
#include <tuple>
#include <utility>

namespace holdfast::sync {

namespace {

// Most synchronizers have these, and need not keep them.
const AcquireOptions& usual_options() {
  static const AcquireOptions usual;
  return usual;
}

auto parts(const Backoff& backoff) {
  const auto& [initial, maximum, multiplier] = backoff;
  return std::tie(initial, maximum, multiplier);
}

bool are_usual(const AcquireOptions& options) {
  const auto& usual = usual_options();
  const auto& [queue_timeout, request_memory, amount, backoff, at_least, request, setup] = options;
  return std::tie(queue_timeout, request_memory, amount, at_least, request, setup) ==
             std::tie(usual.queue_timeout, usual.request_memory, usual.amount, usual.at_least,
                      usual.request, usual.setup) &&
         parts(backoff) == parts(usual.backoff);
}

}  // namespace

Synchronizer::Synchronizer(const Recipe& recipe, LockName name, const AcquireOptions& options)
    : recipe_(recipe),
      name_(std::move(name)),
      options_(are_usual(options) ? nullptr : new AcquireOptions(options)) {}

Synchronizer::~Synchronizer() {
  if (const Commands* const kept = commands_.load()) drop_reference(*kept);
}

const AcquireOptions& Synchronizer::options() const {
  return options_ ? *options_ : usual_options();
}

bool Synchronizer::idle(const Context& with, OwnerNumber owner) const {
  if (with.waits->idle()) return true;  // without the cost of its channel
  const bool in_line = recipe_.waiting() == Waiting::kInLine;
  const std::string field = in_line ? owner_field(with.client_id, owner) : std::string();
  return with.waits->idle(recipe_.channel(name_, field).bytes());
}

const Commands* Synchronizer::commands_for(const Context& with, Millis lease) const {
  const Commands* known = commands_.load(std::memory_order_acquire);
  if (known == nullptr) {
    const Uses before = uses_.load(std::memory_order_relaxed);
    if (before == Uses::kNone) uses_.store(Uses::kOne, std::memory_order_relaxed);
    if (before != Uses::kOne) return nullptr;
    const CommandsPtr fresh = encode(with, lease);
    if (!fresh) {
      uses_.store(Uses::kUnfit, std::memory_order_relaxed);
      return nullptr;
    }
    if (commands_.compare_exchange_strong(known, fresh.get())) {
      known = fresh.get();
      add_reference(*known);
    }
  }
  return known->fit(with.topology->publish_command(), lease) ? known : nullptr;
}

const Commands* Synchronizer::commands(const Context& with) const {
  const Commands* const known = commands_.load(std::memory_order_acquire);
  return known != nullptr && known->fit(with.topology->publish_command()) ? known : nullptr;
}

namespace {

// One of the two commands, as the recipe writes it.
using Write = void (*)(const Recipe& recipe, script::Writer& out, const Step& step);

void write_acquire(const Recipe& recipe, script::Writer& out, const Step& step) {
  recipe.acquire(out, step);
}

void write_release(const Recipe& recipe, script::Writer& out, const Step& step) {
  recipe.taking()->release(out, step);
}

// Nothing where the commands of owners, of this or another client, differ in more than the owner.
std::optional<CommandTemplate> template_of(const Context& with, const Recipe& recipe, Step step,
                                           Write write) {
  constexpr OwnerNumber kOne{kFirstOwnerNumber};
  constexpr OwnerNumber kOther{kFirstOwnerNumber + 1};
  std::string command;
  script::Writer writer = with.writer(command);
  step.owner = owner_field(with.client_id, kOne);
  write(recipe, writer, step);
  const std::string_view name = step.name.bytes();
  auto made = CommandTemplate::of(
      {command, writer.replies(), name, recipe.owner_argument(), with.client_id, kOne});
  if (!made) return made;
  const std::string another_client = with.client_id + '+';
  std::string expected;
  script::Writer other = with.writer(expected);
  step.owner = owner_field(another_client, kOther);
  write(recipe, other, step);
  command.clear();
  (void)made->append(command, name, another_client, kOther);
  if (command != expected) made.reset();
  return made;
}

}  // namespace

CommandsPtr Synchronizer::encode(const Context& with, Millis lease) const {
  if (!recipe_.takes()) return nullptr;
  auto acquire = template_of(with, recipe_, {name_, {}, 1, lease, options()}, &write_acquire);
  if (!acquire) return nullptr;
  auto release = template_of(with, recipe_, {name_, {}}, &write_release);
  if (!release) return nullptr;
  const CommandsPtr made(new Commands(std::move(*acquire), std::move(*release), lease,
                                      std::string(with.topology->publish_command())));
  return with.commands->share(recipe_, made);
}

}  // namespace holdfast::sync
