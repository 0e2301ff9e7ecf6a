#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "redis/base/clock.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

// Whether a stream asks its server for messages about what was read on it and has changed
// (client-side caching: RESP3 and CLIENT TRACKING).
enum class TrackingMode : std::uint8_t {
  kOff,
  kTried,     // a server without it, or that does not allow it, is used as before
  kRequired,  // not asked for, but a server without it is refused
};

// What a server tracks of the keys that a script reads: nothing; those; or, before Redis 7.2, with
// each reading all keys that the script declares, which takes long where these are many.
enum class Tracked : std::uint8_t { kNothing, kReadKeys, kDeclaredKeys };

// Keys that were read on a stream and have changed since, or may have.
struct KeyChanges {
  bool all = false;               // the server has removed all data of a database
  std::vector<std::string> keys;  // in the order of the messages

  bool empty() const { return !all && keys.empty(); }
};

// The part of a stream that asks its server for such messages, and takes them in. A server that
// refuses is not asked again for a minute; nor is one that hangs up while it is asked, twice in a
// row, as some proxies do with commands that they do not know. A machine without I/O.
class Tracking {
 public:
  explicit Tracking(TrackingMode mode) : mode_(mode) {}

  // A greeting begins: decides whether it requests them.
  void begin(TimePoint now);
  bool requested() const { return requested_; }
  bool required() const { return mode_ == TrackingMode::kRequired; }

  // The replies to HELLO 3, and to the command itself.
  void hello(const resp::Reply& reply);
  void answered(const resp::Reply& reply, TimePoint now);
  // The stream is ready; or has broken, while it was greeting.
  void ready() { broken_ = 0; }
  void broken(TimePoint now);

  // Of what the server sends the messages on this stream.
  Tracked tracked() const;
  // A push has come.
  void note(const resp::Reply& push);
  KeyChanges take_changes() { return std::exchange(changes_, {}); }

 private:
  TrackingMode mode_;
  bool requested_ = false;
  bool resp3_ = false;
  bool by_key_ = false;  // the server is of a version that tracks what a script reads
  bool granted_ = false;
  int broken_ = 0;  // greetings in a row that requested them
  TimePoint again_{};
  KeyChanges changes_;
};

}  // namespace holdfast::client
