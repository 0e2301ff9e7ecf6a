#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "client/request.h"

namespace holdfast::client {

// A request that is owed a reply, and its way so far.
struct InFlightRequest {
  RequestPtr request;
  Sent sent{};
  bool asking = false;  // goes out behind an ASKING, whose reply is nobody's
};

// The unanswered requests of one connection, in order; those in front are on the wire. Not
// thread-safe.
class RequestQueue {
 public:
  // What is due to a request; to be handed over without locks.
  struct Answer {
    InFlightRequest to;
    Result<resp::Reply> reply;
  };
  using Answers = std::vector<Answer>;

  RequestQueue();

  bool empty() const { return entries_.empty(); }
  bool awaits_replies() const { return sent_ > 0; }
  bool has_unsent() const { return sent_ < entries_.size(); }
  TimePoint next_overdue() const { return next_overdue_; }
  TimePoint first_sent() const;  // when the first of those on the wire went out; kNever: none

  void add(InFlightRequest unanswered);

  // Encodes what is not on the wire yet, and wanted; from now on it is. How many commands.
  int send(std::string& out, TimePoint now);

  // The next reply on the wire has come. False when nothing was on the wire.
  bool take(resp::Reply reply, Answers& answers);

  // Nothing is on the wire any more; what is still wanted waits to be sent again.
  void broken();

  // What was never sent, and nobody wants, goes without an answer.
  void drop_overdue(TimePoint now, const Status& why, Answers& answers);

  // All, or all but those that go on although nobody waits.
  void fail(const Status& why, bool persistent_too, Answers& answers);

  // All that is wanted, to go elsewhere; the line is empty then.
  std::vector<InFlightRequest> take_all();

 private:
  struct Entry {
    InFlightRequest what;  // without a request: given up, but its reply is still to come
    int extra = 0;         // replies that come before its own
  };

  void forget_unwanted(std::size_t from, std::size_t to);
  void add_answer(Entry& entry, Result<resp::Reply> reply, Answers& answers);

  std::deque<Entry> entries_;
  std::uint64_t stream_;  // what is on the wire, or will be
  std::size_t sent_ = 0;
  TimePoint next_overdue_ = kNever;
};

}  // namespace holdfast::client
