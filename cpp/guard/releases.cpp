#include "guard/releases.h"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "resp/command.h"
#include "script/writer.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/permit_semaphore.h"

namespace holdfast::guard {

namespace {

// For a connection and the replies of one round; between two rounds; and between two attempts.
constexpr Millis kRoundTime{1000};
constexpr Millis kLateAcquire{50};
constexpr Millis kBackoff{50};

void wait_for(Millis time) { (void)poll(nullptr, 0, static_cast<int>(time.count())); }

bool known(const HeldRecord& record) {
  return record.kind == HeldRecord::kPermit || record.kind < sync::kLockKinds.size();
}

void write_release(script::Writer& out, const HeldRecord& record) {
  if (record.kind == HeldRecord::kPermit) {
    return sync::release_permit(out, LockName(record.name), record.owner);
  }
  const sync::LockKind& kind = sync::kLockKinds.at(record.kind);
  const LockName name(record.name, kind.side);
  kind.recipe().release(out, {name, record.owner});
}

// The ids are of the server at that moment: after another one has taken its place, they may be of
// other clients.
void close_connections(Server& server, const HeldPageView& page, TimePoint deadline) {
  std::string commands;
  const std::vector<std::int64_t> ids = page.connections();
  for (const std::int64_t id : ids) {
    commands += resp::Command{"CLIENT", "KILL", "ID", std::to_string(id)}.bytes();
  }
  (void)server.request(commands, ids.size(), deadline);
}

Status release_twice(const HeldPageView& page, const Settings& settings, bool first) {
  const SystemClock clock;
  const TimePoint deadline = after(clock.now(), kRoundTime);
  auto server = Server::connect(settings, deadline);
  if (!server.ok()) return server.status();
  if (first) close_connections(server.value(), page, deadline);
  const std::vector<HeldRecord> held = page.held(clock.now());
  if (Status status = release_once(server.value(), held, settings, deadline); !status.ok()) {
    return status;
  }
  wait_for(kLateAcquire);
  return release_once(server.value(), page.held(clock.now()), settings, deadline);
}

}  // namespace

Status release_once(Server& server, const std::vector<HeldRecord>& held, const Settings& settings,
                    TimePoint deadline) {
  std::vector<const HeldRecord*> pending;
  for (const HeldRecord& record : held) {
    if (known(record)) pending.push_back(&record);
  }
  for (const bool by_text : {false, true}) {
    std::string commands;
    script::Writer out(commands, by_text, settings.publish);
    for (const HeldRecord* record : pending) write_release(out, *record);
    const auto replies = server.request(commands, pending.size(), deadline);
    if (!replies.ok()) return replies.status();
    std::vector<const HeldRecord*> unknown;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const resp::Reply& reply = replies.value()[i];
      if (reply.is_error() && reply.text().substr(0, 8) == "NOSCRIPT")
        unknown.push_back(pending[i]);
    }
    pending = std::move(unknown);
  }
  return {};
}

void release_all(const HeldPageView& page, const Settings& settings) {
  const SystemClock clock;
  for (bool first = true; !page.held(clock.now()).empty(); first = false) {
    if (release_twice(page, settings, first).ok()) return;
    wait_for(kBackoff);
  }
}

}  // namespace holdfast::guard
