#include "topology/standalone.h"

namespace holdfast::topology {

Standalone::Standalone(const Clock& clock, const Loops& loops, const Setup& setup)
    : address_(setup.link.address.text()),
      publish_(publish_command_of(setup.pubsub.value_or(client::PubSub::kClassic))),
      links_(clock, loops, setup) {
  if (setup.pubsub) links_.subscriber()->set_mode(*setup.pubsub);
}

}  // namespace holdfast::topology
