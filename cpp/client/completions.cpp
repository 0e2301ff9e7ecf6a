#include "client/completions.h"

#include <utility>

namespace holdfast::client {

namespace {

void deliver(const ConnectionSetup& setup, RequestQueue::Delivery& delivery) {
  auto& [to, reply] = delivery;
  const bool error = reply.ok() && reply.value().is_error();
  if (error && setup.redirect && setup.redirect(to, reply.value().text())) return;
  to.request->complete(std::move(reply), to.sent);
}

void pass_on(const ConnectionSetup& setup, InFlightRequest leaver) {
  const RequestPtr request = leaver.request;
  const Sent sent = leaver.sent;
  const Status refused = setup.neighbours.hand_over(std::move(leaver), true);
  if (!refused.ok()) request->complete(refused, sent);
}

}  // namespace

void Completions::run(const ConnectionSetup& setup) {
  for (RequestQueue::Delivery& delivery : deliveries) deliver(setup, delivery);
  for (InFlightRequest& leaver : leavers) pass_on(setup, std::move(leaver));
  if (!changes.empty() && setup.on_changes) setup.on_changes(changes);
  if (lost && setup.on_lost) setup.on_lost();
  if (failed && setup.on_failed) setup.on_failed();
}

}  // namespace holdfast::client
