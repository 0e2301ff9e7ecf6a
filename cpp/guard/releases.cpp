#include "guard/releases.h"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "guard/server.h"
#include "net/address_map.h"
#include "resp/command.h"
#include "resp/error_reply.h"
#include "script/writer.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/permit_semaphore.h"
#include "topology/cluster_reply.h"

namespace holdfast::guard {

namespace {

// For a connection and the replies of one server; between two rounds; and between two attempts.
constexpr Millis kRoundTime{1000};
constexpr Millis kLateAcquire{50};
constexpr Millis kBackoff{50};  // doubling
constexpr Millis kLongestBackoff{1000};
// How often a release may be sent elsewhere, or with the script's text.
constexpr int kMostSendings = 6;

void wait_for(Millis time) { (void)poll(nullptr, 0, static_cast<int>(time.count())); }

bool known(const HeldRecord& record) {
  return record.kind == HeldRecord::kPermit || record.kind < sync::kLockKinds.size();
}

void write_release(script::Writer& out, const HeldRecord& record) {
  if (record.kind == HeldRecord::kPermit) {
    const LockName name(record.name);
    return sync::permit_steps().release.write(out, sync::about_permits(name, record.owner));
  }
  const sync::LockKind& kind = sync::kLockKinds.at(record.kind);
  const LockName name(record.name, kind.side);
  kind.recipe().release(out, {name, record.owner});
}

// A release that has no final reply yet.
struct Pending {
  const HeldRecord* record;
  bool by_text = false;
  bool asks = false;  // the slot is on its way to the server, which accepts this one by ASKING
};
using ByServer = std::map<std::size_t, std::vector<Pending>>;

class Round {
 public:
  explicit Round(Servers& servers) : servers_(servers) {}

  Status run(ByServer pending) {
    for (int sending = 0; sending < kMostSendings && !pending.empty(); ++sending) {
      for (const auto& [server, releases] : std::exchange(pending, {})) {
        send(server, releases, pending);
      }
    }
    return pending.empty() ? status_ : Status::unreachable("the cluster's slots do not settle");
  }

 private:
  void send(std::size_t server, const std::vector<Pending>& releases, ByServer& again) {
    std::string commands;
    std::size_t count = 0;
    for (const Pending& release : releases) {
      script::Writer out(commands, release.by_text, servers_.settings(server).publish);
      if (release.asks) out.command({"ASKING"}, resp::ReplyKind::kStatus);
      write_release(out, *release.record);
      count += release.asks ? 2 : 1;
    }
    const TimePoint deadline = after(SystemClock().now(), kRoundTime);
    const auto replies = servers_.request(server, commands, count, deadline);
    if (!replies.ok()) {
      status_ = replies.status();
      return;
    }
    std::size_t next = 0;
    for (const Pending& release : releases) {
      next += release.asks ? 1 : 0;
      judge(server, release, replies.value()[next++], again);
    }
  }

  void judge(std::size_t server, Pending release, const resp::Reply& reply, ByServer& again) {
    using Kind = topology::Redirection::Kind;
    if (!reply.is_error()) return;
    const auto to = topology::redirection(reply.text(), servers_.settings(server).announced);
    release.asks = to.kind == Kind::kAsk;
    if (to.kind == Kind::kMoved || to.kind == Kind::kAsk) {
      again[servers_.find(to.address, server)].push_back(release);
    } else if (resp::is_unknown_script(reply.text()) && !std::exchange(release.by_text, true)) {
      again[server].push_back(release);
    } else if (resp::is_temporary(reply.text())) {
      status_ = Status::server(std::string(resp::error_word(reply.text())), "not for now");
    }
  }

  Servers& servers_;
  Status status_;
};

Status release_twice(const HeldPageView& page, Servers& servers) {
  const SystemClock clock;
  if (Status status = release_once(servers, page.held(clock.now())); !status.ok()) return status;
  wait_for(kLateAcquire);
  return release_once(servers, page.held(clock.now()));
}

// To the primary of a service, which may have become another one; whether it has.
bool follow(std::vector<Settings>& servers, const std::vector<Settings>& sentinels) {
  const auto primary = find_primary(sentinels);
  if (!primary || servers.back().announced == *primary) return false;
  Settings& server = servers.back();
  server.announced = *primary;
  server.address = net::mapped(server.address_map, *primary);
  server.place = Settings::kNoPlace;
  return true;
}

}  // namespace

Status release_once(Servers& servers, const std::vector<HeldRecord>& held) {
  ByServer pending;
  const auto first = servers.any(kRoundTime);
  if (!first.ok()) return first.status();
  for (const HeldRecord& record : held) {
    if (known(record)) pending[first.value()].push_back({&record});
  }
  return Round(servers).run(std::move(pending));
}

void release_all(const HeldPageView& page, std::vector<Settings> servers,
                 const std::vector<Settings>& sentinels) {
  if (servers.empty()) return;  // the program was never connected to one
  const SystemClock clock;
  bool first = true;
  for (Millis rest = kBackoff; !page.held(clock.now()).empty(); first = false) {
    Servers connections(page, servers, first);
    const bool released = release_twice(page, connections).ok();
    // A primary that has been replaced answers for some seconds as before.
    if (follow(servers, sentinels)) continue;
    if (released) return;
    // The next round begins elsewhere: a server that hangs says of no slot who serves it.
    if (sentinels.empty()) std::rotate(servers.rbegin(), servers.rbegin() + 1, servers.rend());
    wait_for(rest);
    rest = std::min(2 * rest, kLongestBackoff);
  }
}

}  // namespace holdfast::guard
