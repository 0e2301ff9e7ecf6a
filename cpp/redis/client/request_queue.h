#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/base/stats.h"
#include "redis/client/request.h"
#include "redis/net/endpoint.h"

namespace holdfast::client {

// A request without a reply yet, and when it was sent.
struct InFlightRequest {
  RequestPtr request;
  Sent sent{};
  bool asking = false;   // sent behind an ASKING, whose reply is dropped
  bool fresh = false;    // has no place in any line: not let into one when it was revoked
  bool by_text = false;  // its server did not know the script
  int misfits = 0;       // replies that it cannot have

  bool barred() const { return fresh && request->revoked(); }
};

// The reason for which such a reply is refused: "sent ...".
std::string misfit(const resp::Reply& reply);

// The unanswered requests of one connection, in order; those in front are on the wire. Not
// thread-safe.
//
// Replies are matched to requests by their order alone, and a nil for another command would be a
// grant to two owners. So a reply that no request asked for, or that its command cannot have
// (resp::ReplyKinds), ends the stream, and what is unanswered is sent again on the next one. Before
// the first command of an idle stream the sender looks for input (Transport::has_input()). What
// remains: a surplus reply of the right kind that arrives between this look and the reply to the
// command is believed; the next command finds the stream out of step.
//
// A server that does not know the script of a command says NOSCRIPT, and has executed nothing of
// it, however many holds it is about. The command then goes to the end of the line, to be sent with
// the script's text: behind all that was sent or submitted after it. Among that may be a later
// command of the same owner, whose maker has revoked it, or abandoned it where its caller has left:
// then it is not sent again, and its answer is kRevoked, or the NOSCRIPT. Either answer proves
// that it was not executed, unless an earlier sending was (Sent::times).
class RequestQueue {
 public:
  // The reply for a request; to be delivered without locks.
  struct Delivery {
    InFlightRequest to;
    Result<resp::Reply> reply;
  };
  using Deliveries = std::vector<Delivery>;

  // `reports` receives a kResolved for each command that has its reply after it was sent again.
  explicit RequestQueue(std::shared_ptr<ReportSink> reports);
  RequestQueue() : RequestQueue(nullptr) {}  // without a report

  bool empty() const { return entries_.empty(); }
  bool awaits_replies() const { return sent_ > 0; }
  bool has_unsent() const { return sent_ < entries_.size(); }
  std::size_t size() const { return entries_.size(); }
  bool has_awaited() const;  // one whose caller waits for the reply, or that no caller knows of
  TimePoint next_overdue() const { return next_overdue_; }
  TimePoint next_connect_deadline() const;  // looks through them all
  TimePoint first_sent() const;  // when the first of those on the wire went out; kNever: none

  // The stream of the commands that go out now: see Sent::stream.
  std::uint64_t stream() const { return stream_; }
  // There is a stream again; `tracked`: see Sent::tracked.
  void opened(Tracked tracked) { tracked_ = tracked; }

  void add(InFlightRequest unanswered);

  // One that went out by another way than send(), behind the first `ahead` ones (or as many as are
  // left of them) and before all others. Its way: to be sent, or sent on the present stream, on
  // which all ahead of it are, or written to its end. `replies`: that its command can have.
  enum class Way { kUnsent, kSent, kWritten };
  void put_behind(std::size_t ahead, InFlightRequest unanswered, Way way, resp::ReplyKinds replies);

  // Encodes the wanted requests that are not on the wire yet; from now on they are. Returns the
  // number of commands.
  int send(std::string& out, TimePoint now);
  // All that send() has encoded is written: its deferred requests' written() is called.
  void written() {
    for (std::size_t i = sent_; i > 0 && !entries_[i - 1].written; --i) {
      Entry& entry = entries_[i - 1];
      entry.written = true;
      if (entry.what.request && entry.what.request->deferred) entry.what.request->written();
    }
  }

  // The key of the first request on the wire; empty: it has none, or was given up.
  std::string_view first_key() const {
    const RequestPtr& first = entries_.front().what.request;
    return first ? first->key() : std::string_view();
  }

  // How many replies are to come before the one to this request; nothing: it is not on the wire.
  std::optional<std::size_t> replies_before(const Request& request) const;

  // The next reply on the wire has come, `from` this server. kUnasked: nothing was on the wire.
  // kMismatched: the next command cannot have such a reply. Then nothing is taken: replies and
  // requests are out of step. But a command that has met two such replies is not sent again: that
  // is its answer.
  enum class Taken { kTaken, kUnasked, kMismatched };
  Taken take(resp::Reply&& reply, const net::Address& from, Deliveries& deliveries);

  // Whether these can be the replies to the first requests on the wire.
  template <typename Replies>
  bool allow_first(const Replies& replies, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (!entries_[i].replies.allow(replies[i])) return false;
    }
    return true;
  }

  // The first of those on the wire, whose reply, which is no error, has come `from` this server;
  // without a request: it was given up.
  InFlightRequest take_first(const net::Address& from);

  // An attempt to connect has failed, or the stream has. Deliveries the requests, but for
  // persistent ones, that have stood here for more than `retries` such failures without a reply in
  // between, or impatient ones for one. Those before a request came are not its own: the network
  // may be back by now.
  void attempt_failed(int retries, const Status& why, Deliveries& deliveries);

  // The stream broke: the requests that are still wanted wait to be sent again.
  void broken();

  // Drops requests that were never sent and are no longer wanted without an answer.
  void drop_overdue(TimePoint now, const Status& why, Deliveries& deliveries);

  // The server refuses connections: answers the requests whose connect deadline has passed.
  void drop_connect_overdue(TimePoint now, const Status& why, Deliveries& deliveries);

  // All requests, or all but the persistent ones.
  void fail(const Status& why, bool persistent_too, Deliveries& deliveries);
  // The server refuses the password: all but those that await a login.
  void login_refused(const Status& why, Deliveries& deliveries);
  // All of them await a login, if there are any.
  bool only_awaits_login() const;

  // All wanted requests, to be sent elsewhere; the queue is empty afterwards.
  std::vector<InFlightRequest> take_all();

 private:
  struct Entry {
    InFlightRequest what;  // without a request: given up, but its reply is still to come
    int extra = 0;         // replies that come before its own
    bool written = false;  // on the wire: the stream has taken it
    resp::ReplyKinds replies = resp::ReplyKinds::any();  // on the wire: what it may get
    int failures_before = 0;                             // failures_ when it came
  };

  void forget_unwanted(std::size_t from, std::size_t to);
  // Not executed, as its server did not know the script.
  void take_unknown(InFlightRequest unanswered, resp::Reply&& reply, Deliveries& deliveries);
  // All but the entries of which `stays(entry)` is true.
  template <typename Stays>
  void answer_others(const Stays& stays, const Status& why, Deliveries& deliveries);
  void report_resolved(const InFlightRequest& unanswered, const net::Address& from);
  static TimePoint connect_deadline(const Entry& entry);
  static bool awaits_login(const Entry& entry) {
    return entry.what.request && entry.what.request->awaits_login;
  }
  void add_answer(Entry& entry, Result<resp::Reply> reply, Deliveries& deliveries);

  std::shared_ptr<ReportSink> reports_;
  std::deque<Entry> entries_;
  std::uint64_t stream_;  // what is on the wire, or will be
  Tracked tracked_ = Tracked::kNothing;
  std::size_t sent_ = 0;
  TimePoint next_overdue_ = kNever;
  int failures_ = 0;  // attempts that have failed in a row
};

}  // namespace holdfast::client
