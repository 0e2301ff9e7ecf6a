#include "guard/guarded_clients.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "guard/releases.h"
#include "resp/reply.h"

namespace holdfast::guard {

namespace {

constexpr std::size_t kLongestMessage = 65536;

struct Packet {
  ssize_t size = 0;  // as recv() returns it
  std::string bytes;
  net::Descriptor page;  // that came along
};

Packet receive(int socket) {
  Packet packet;
  packet.bytes.resize(kLongestMessage);
  iovec bytes{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  packet.size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  packet.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(packet.size, 0)));
  const cmsghdr* const head = packet.size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    int page = -1;
    std::memcpy(&page, CMSG_DATA(head), sizeof(int));
    packet.page = net::Descriptor(page);
  }
  return packet;
}

}  // namespace

GuardedClients::Read GuardedClients::read() {
  const Packet packet = receive(socket_);
  if (packet.size < 0 && errno != ECONNRESET) return Read::kNone;
  at_end_ = packet.size <= 0;
  if (at_end_) return Read::kEnd;
  bool joins = false;
  const Status status = judge(packet.bytes, packet.page, joins);
  if (joins) answer(status);
  return Read::kOne;
}

Status GuardedClients::judge(const std::string& bytes, const net::Descriptor& page, bool& joins) {
  joins = page.open();
  resp::Reader reader;
  reader.feed(bytes.data(), bytes.size());
  auto next = reader.next();
  if (!next.ok()) return next.status();
  if (!next.value()) return Status::invalid("a message for the guard was cut");
  Result<Message> read = read_message(*next.value());
  if (!read.ok()) return read.status();
  Message& message = read.value();
  if (joins) return join(message.client, page);
  if (message.ends) clients_.erase(message.client);
  if (message.server) connected(message.client, std::move(*message.server));
  return {};
}

Status GuardedClients::join(const std::string& client, const net::Descriptor& page) {
  Result<HeldPageView> view = HeldPageView::open(page.get());
  if (!view.ok()) return view.status();
  clients_.emplace(client, Client{std::move(view.value()), {}});
  joined_ = true;
  return {};
}

// Of a cluster all servers, each once, seeds too, which have no place; else the newest alone.
void GuardedClients::connected(const std::string& client, Settings server) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  if (!server.service.empty()) return found->second.sentinels.push_back(std::move(server));
  std::vector<Settings>& servers = found->second.servers;
  const auto replaced = [&server](const Settings& other) {
    return !server.cluster || other.address == server.address;
  };
  const bool known = std::any_of(servers.begin(), servers.end(), replaced);
  if (known && server.place == Settings::kNoPlace) return;
  servers.erase(std::remove_if(servers.begin(), servers.end(), replaced), servers.end());
  servers.push_back(std::move(server));
}

void GuardedClients::answer(const Status& status) const {
  const std::string text =
      status.ok() ? "+" + std::to_string(getpid()) + "\r\n" : "-ERR " + status.message() + "\r\n";
  (void)send(socket_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool GuardedClients::done() const {
  if (joined_ && clients_.empty()) return true;
  const TimePoint now = SystemClock().now();
  return at_end_ && std::all_of(clients_.begin(), clients_.end(), [now](const auto& client) {
           return client.second.page.held(now).empty();
         });
}

void GuardedClients::release_all() {
  std::size_t left = clients_.size();
  for (const auto& [number, client] : clients_) {
    const bool last = --left == 0;
    const pid_t child = last ? -1 : fork();
    if (child > 0) continue;
    guard::release_all(client.page, client.servers, client.sentinels);
    if (child == 0) _exit(0);
  }
}

}  // namespace holdfast::guard
