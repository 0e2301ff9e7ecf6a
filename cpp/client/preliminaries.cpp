#include "client/preliminaries.h"

#include <utility>

#include "client/reconnecting_stream.h"
#include "net/address_map.h"

namespace holdfast::client {

void Preliminaries::begin(const StreamOptions& options) {
  drop();
  const bool maps = options.address_map && options.given.announced;
  if (maps) address_ = options.address_map->request(options.given);
  if (options.credential_source) credentials_ = options.credential_source();
}

Status Preliminaries::take(StreamOptions& options, net::Credentials& credentials) {
  if (address_ && address_->done()) {
    Result<net::Address> reachable = std::exchange(address_, nullptr)->take();
    if (!reachable.ok()) return reachable.status();
    options.address = std::move(reachable.value());
    options.address_map->note(options.given, options.address);
  }
  if (credentials_ && credentials_->done()) {
    Result<net::Credentials> who = std::exchange(credentials_, nullptr)->take();
    if (!who.ok()) return who.status();
    credentials = std::move(who.value());
  } else if (!options.credential_source) {
    credentials = options.credentials;
  }
  return {};
}

void Preliminaries::drop() {
  address_.reset();
  credentials_.reset();
}

}  // namespace holdfast::client
