#include "redis/client/event_loop_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "redis/client/connection.h"
#include "redis/net/poller.h"

namespace holdfast::client {

EventLoopReader::EventLoopReader() : epoll_(net::make_readable_set()), epoch_(fork_epoch()) {}

void EventLoopReader::watch(int fd) {
  if (!net::add_readable(epoll_.get(), fd)) throw LimitReached("epoll_ctl", errno);
}

bool EventLoopReader::take(std::shared_ptr<Connection> connection,
                           std::shared_ptr<net::Transport> stream) {
  const MutexLock lock(mutex_);
  if (!net::add_readable(epoll_.get(), stream->fd())) return false;
  entries_.push_back({std::move(connection), std::move(stream)});
  return true;
}

void EventLoopReader::drop(const Connection& connection) {
  const MutexLock lock(mutex_);
  const auto is_it = [&connection](const Entry& each) {
    return each.connection.get() == &connection;
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), is_it);
  if (found == entries_.end()) return;
  net::remove_readable(epoll_.get(), found->stream->fd());
  entries_.erase(found);
}

// Without the lock held, as a connection's comes before it.
template <typename Visit>
void EventLoopReader::for_each(const Visit& visit) {
  if (in_child()) return;
  std::vector<std::shared_ptr<Connection>> connections = std::exchange(visited_, {});
  {
    const MutexLock lock(mutex_);
    for (const Entry& each : entries_) connections.push_back(each.connection);
  }
  for (const std::shared_ptr<Connection>& connection : connections) visit(*connection);
  connections.clear();
  visited_ = std::move(connections);  // keeps its memory
}

void EventLoopReader::turn() {
  turning_ = true;
  for_each([this](Connection& connection) { connection.turn(*this); });
  turning_ = false;
}

void EventLoopReader::send() {
  if (!std::exchange(has_gathered_, false)) return;
  for_each([this](Connection& connection) { connection.send_now(this); });
}

void EventLoopReader::give_up() {
  for_each([this](Connection& connection) { connection.end_read_right(*this); });
}

}  // namespace holdfast::client
