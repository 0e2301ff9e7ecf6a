#include "guard/guarded_clients.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "guard/releases.h"

namespace holdfast::guard {

namespace {

constexpr std::size_t kLongestMessage = 64;

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
  if (packet.page.open()) answer(join(packet.bytes, packet.page));
  for (auto each = pages_.begin(); each != pages_.end();) {
    each = each->second.closed() ? pages_.erase(each) : std::next(each);
  }
  return Read::kOne;
}

Status GuardedClients::join(const std::string& client, const net::Descriptor& page) {
  Result<HeldPageView> view = HeldPageView::open(page.get());
  if (!view.ok()) return view.status();
  pages_.emplace(client, std::move(view.value()));
  joined_ = true;
  return {};
}

void GuardedClients::answer(const Status& status) const {
  const std::string text =
      status.ok() ? "+" + std::to_string(getpid()) + "\r\n" : "-ERR " + status.message() + "\r\n";
  (void)send(socket_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool GuardedClients::done() const {
  if (joined_ && pages_.empty()) return true;
  const TimePoint now = SystemClock().now();
  return at_end_ && std::all_of(pages_.begin(), pages_.end(), [now](const auto& page) {
           return page.second.closed() || page.second.held(now).empty();
         });
}

void GuardedClients::release_all() {
  std::size_t left = pages_.size();
  for (const auto& [number, page] : pages_) {
    const bool last = --left == 0;
    const pid_t child = last ? -1 : fork();
    if (child > 0) continue;
    if (!page.closed()) guard::release_all(page);
    if (child == 0) _exit(0);
  }
}

}  // namespace holdfast::guard
