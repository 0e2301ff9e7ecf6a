#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/stats.h"
#include "redis/base/status.h"
#include "redis/client/greeting.h"
#include "redis/client/stale_signs.h"
#include "redis/client/tracking.h"
#include "redis/net/endpoint.h"
#include "redis/net/pollable.h"
#include "redis/net/socket_transport.h"
#include "redis/net/transport.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

struct StreamOptions;

// Notes the server and the credentials that a stream uses. Called by the stream's driver, also with
// locks held.
class StreamWitness {
 public:
  virtual ~StreamWitness() = default;
  // The server has accepted `who`, and nothing else has been sent. `connection`: what it says of
  // this connection (CLIENT INFO); empty: nothing.
  virtual void greeted(const StreamOptions& link, const net::Credentials& who,
                       std::string_view connection) = 0;
  // That connection has other credentials now. Any thread.
  virtual void reauthenticated(const net::Credentials& who) = 0;
  // That connection is there no more.
  virtual void left() = 0;
};

// The needs of an attempt to connect, which other threads may have to supply: where a server
// that was announced is reachable, and the credentials. One thread at a time.
//
// A server is known by the address that a server has announced everywhere else: two of them may be
// mapped to one address for a moment, and would be one. And a thread that reads replies cannot wait
// for a map that is a function of Python.
class Preliminaries {
 public:
  // Requests both, for `options.given`.
  void begin(const StreamOptions& options);

  // Takes what has come into `options.address` and `credentials`, and drops the requests for it.
  // Not OK: one was answered by a failure.
  Status take(StreamOptions& options, net::Credentials& credentials);

  // Something has not come.
  bool pending() const { return address_ || credentials_; }
  // Becomes readable when take() is of use.
  int fd() const { return address_ ? address_->fd() : credentials_->fd(); }
  // The one that has not come: "address", "password".
  const char* missing() const { return address_ ? "address" : "password"; }

 private:
  std::shared_ptr<net::AddressRequest> address_;
  std::shared_ptr<net::CredentialRequest> credentials_;
};

// How to reach one server, and for how long. A server that answers for a *service* has to be a
// primary: it is asked for its role when it is greeted, and left when it answers READONLY.
struct StreamOptions {
  net::Address address;  // for an announced server: where it is reachable
  net::TlsOptions tls;
  net::Credentials credentials;
  int database = 0;
  std::string client_name;
  Millis connect_timeout{5000};  // for connecting and the greeting together
  Millis command_timeout{5000};
  int retries = 10;       // attempts to connect after the first, before callers get an error
  std::string service{};  // what the sentinels call the group whose primary this is; else empty
  std::string library_version{};  // sent with the library's name; empty: neither is
  bool resp3 = false;  // replies, and what comes unasked, in RESP3, where the server has it
  std::shared_ptr<Stats> stats = std::make_shared<Stats>();  // the client's
  net::CredentialSource credential_source{};  // asked for each attempt, instead of `credentials`
  std::shared_ptr<ReportSink> reports{};      // null: nothing is reported
  bool pushes = false;  // read() returns pushes, too (RESP3); set by the stream
  TrackingMode tracking = TrackingMode::kOff;      // speaks RESP3 for it, where the server does
  std::shared_ptr<StreamWitness> witness{};        // null: there is none
  std::shared_ptr<net::AddressMap> address_map{};  // for announced servers; null: there is none
  bool reauthenticates = false;                    // gets newer credentials while it is open
  bool busy_poll = false;  // its reader may look before it sleeps: see BusyPoll
  // Sent with each greeting, in front of all requests; whatever the answers, the stream is as good.
  std::vector<resp::Command> also_sent{};
  resp::Command label{};  // sent with each greeting, too, until refused; empty: none
  net::Address given{};   // the address before it was mapped; set by the stream
  // The signs that a server which has to be the primary is not: it is asked for its role when it
  // is greeted, if the user may do that. Null: the server was named for itself.
  std::shared_ptr<StaleSigns> signs{};
  bool asks_role = false;  // the greeting asks for the role, also without signs
  // The addresses that names have led to; shared by the client's streams.
  std::shared_ptr<net::AddressMemory> addresses = std::make_shared<net::AddressMemory>();
};

// One stream to one server that makes itself anew: connect, greet (AUTH, HELLO, SELECT, and
// what a server may refuse: CLIENT SETNAME and SETINFO), carry bytes, and after a failure rest for
// a moment (10 ms doubling to 1 s, halved at random) and start again. A machine without threads:
// its driver calls advance() and read(); see Pollable. Only transport() may be used by another
// thread, to write, while the driver runs.
class ReconnectingStream {
 public:
  enum class State {
    kIdle,        // never started, or closed
    kAsking,      // for address and credentials, before connecting
    kConnecting,  // the transport connects
    kGreeting,    // our first commands are on their way
    kReady,       // carries bytes
    kBackingOff,  // after a failure, until the next attempt
    kNowhere,     // no address is known: until move()
  };

  // Opens the stream to `options.address`; tests supply their own function.
  using Open = std::function<std::unique_ptr<net::Transport>(const StreamOptions&)>;

  // Whether read() returns pushes, too (RESP3).
  enum class Pushes { kSkipped, kReturned };

  explicit ReconnectingStream(StreamOptions options, Open open = {},
                              Pushes pushes = Pushes::kSkipped);

  State state() const { return state_; }
  const StreamOptions& options() const { return options_; }

  // Goes on towards kReady; true when kReady has been reached by this call. Starts anew when idle
  // or backed off.
  bool advance(TimePoint now);

  // How long a read() of kMoment may block until there is something to read; 0: never, or not
  // ready.
  Millis moment() const { return moment_; }

  // Ready only: reads what there is, appending complete replies to `replies`. False when the stream
  // has broken: then it has been left for kBackingOff, with failure() saying why.
  enum class Wait { kNone, kMoment };
  bool read(TimePoint now, std::vector<resp::Reply>& replies, Wait wait = Wait::kNone);

  // Writes what the stream takes of these bytes, and removes it there. True: it waits for room for
  // more. That it has failed shows as a failure to read, after what the server may have said last.
  // Ready, or in its greeting.
  bool write(std::string& bytes);

  // As read(), for bytes that the driver has read from transport() by itself.
  bool take(TimePoint now, const char* bytes, std::size_t size, std::vector<resp::Reply>& replies);

  // Gives a stream up, and resets it, whose bytes cannot be the replies to what was sent: requests
  // and replies may be out of step. `what`: "sent ...", for the message. Counted and reported.
  void protocol_error(TimePoint now, const std::string& what);
  // A reply that no command asked for. A server may also refuse a client in this way: then the
  // stream has failed for that.
  void unasked(TimePoint now, const resp::Reply& reply);

  // A reply that was read was the one to what was sent. The failures were in a row no longer.
  void replied() { failures_ = 0; }

  // Ready only: all that has been read was complete replies, and they have been returned.
  bool at_end() const { return reader_->at_end(); }

  // Ready only: what the server has said when the stream was made.
  const Greeting& greeting() const { return greeting_; }

  // Ready only: of what was read on this stream the server says when it changes. And what it has
  // said since the last call.
  Tracked tracked() const { return tracking_.tracked(); }
  KeyChanges take_changes() { return tracking_.take_changes(); }

  // Gives the stream up and backs off. `reset`: let nothing that was sent before be delivered late.
  void fail(TimePoint now, Status why, bool reset);

  // The server is at `to` from now on, or, for now, nowhere, and failure() says why. The stream is
  // reset.
  void move(Result<net::Address> to);

  // Back to kIdle, with the stream closed. Nowhere it stays there.
  void close();

  // The event to wait for before advance() or read() is of use again.
  net::Interest interest() const;

  // The stream of kReady; null otherwise.
  std::shared_ptr<net::Transport> transport() const;

  // Backing off: the next attempt begins now. If it fails, it counts towards no number of failures
  // in a row, and the back-off goes on.
  void hurry(TimePoint now);

  // Why the latest attempt or stream failed, and how many attempts have failed in a row.
  const Status& failure() const { return failure_; }
  int failures() const { return failures_; }
  std::uint64_t failed_attempts() const { return failed_attempts_; }  // ever, and streams

  // The latest failure is an error reply to the greeting (wrong password, no such database, ...),
  // or of a server that locates this one, or plain text in place of TLS: trying again does not help
  // until the configuration changes.
  bool refused() const {
    return failure_.code() == Code::kServer || failure_.reach() == Reach::kPlainText;
  }

  // Why it has failed: the server refuses the client: its password, or where it comes from.
  bool login_refused() const;

  // No stream, and callers are to get the failure: refused, or more attempts have failed than are
  // allowed.
  bool hopeless() const;

 private:
  void prepare(TimePoint now);
  void connect(TimePoint now);
  void probe(TimePoint now);
  void exchange_greeting(TimePoint now);
  void time_out(TimePoint now);
  std::optional<resp::Reply> next_reply(TimePoint now);
  void refuse(TimePoint now, const resp::Reply& error);
  void leave(bool reset);

  StreamOptions options_;
  Open open_;
  State state_ = State::kIdle;
  Preliminaries preliminaries_;   // what kAsking waits for
  net::Credentials credentials_;  // this attempt's
  std::shared_ptr<net::Transport> transport_;
  std::unique_ptr<resp::Reader> reader_;
  Greeting greeting_;
  Tracking tracking_;
  std::uint64_t answers_ = 0;  // that the server has given on this stream
  net::Interest interest_;
  Millis moment_{0};
  bool more_ = false;         // the last read() stopped before it had everything
  TimePoint until_ = kNever;  // end of the attempt, or of the back-off
  Status failure_;
  int failures_ = 0;
  std::uint64_t failed_attempts_ = 0;
  TimePoint backoff_end_ = kNever;  // the end of the back-off that hurry() has cut short
  // Where TLS is wanted and the server says nothing: whether it would answer in plain text.
  TimePoint silent_until_ = kNever;
  std::unique_ptr<net::PlainTextProbe> probe_;
  bool probed_ = false;
  bool known_ = false;  // it has been ready before
};

}  // namespace holdfast::client
