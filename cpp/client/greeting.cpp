#include "client/greeting.h"

#include "client/login.h"
#include "client/reconnecting_stream.h"
#include "resp/error_reply.h"

namespace holdfast::client {

namespace {

// For AUTH beside subscriptions, too.
bool wants_resp3(const StreamOptions& options) {
  return options.resp3 || (options.pushes && options.reauthenticates);
}

Role role_named(std::string_view word) {
  if (word == "master") return Role::kPrimary;
  return word == "slave" || word == "replica" ? Role::kReplica : Role::kUnknown;
}

}  // namespace

Role role_of(const resp::Reply& reply) {
  return reply.is_array() ? role_named(reply.text_at(0)) : Role::kUnknown;
}

void Greeting::begin(const StreamOptions& options, const net::Credentials& who, Tracking& tracking,
                     TimePoint now) {
  unsent.clear();
  resp3_ = excused_ = false;
  role_ = Role::kUnknown;
  connection_.clear();
  missing_ = 0;
  if (const auto auth = auth_command(who)) say(*auth);
  tracking.begin(now);
  const bool resp3 = wants_resp3(options) || tracking.needs_resp3();
  if (resp3) say({"HELLO", "3"});
  const int hello = resp3 ? missing_ : 0;
  if (tracking.required()) say({"CLIENT", "TRACKING", "OFF"});
  if (options.database != 0) say({"SELECT", std::to_string(options.database)});
  if (!options.service.empty()) say({"ROLE"});
  optional_ = -missing_;
  ask_role(options, resp3);
  introduce(options);
  say_label(options);
  if (tracking.requested()) say({"CLIENT", "TRACKING", "ON", "NOLOOP"});
  optional_ += missing_;
  after_hello_ = resp3 ? missing_ - hello : -1;
}

void Greeting::say(const resp::Command& command) {
  unsent += command.bytes();
  ++missing_;
}

// For people who look at the server; whatever becomes of it, the stream is as good.
void Greeting::introduce(const StreamOptions& options) {
  if (!introduces_) return;
  if (!options.client_name.empty()) say({"CLIENT", "SETNAME", options.client_name});
  if (options.witness) say({"CLIENT", "INFO"});
  for (const resp::Command& command : options.also_sent) say(command);
  if (options.library_version.empty()) return;
  // The inspector shows it with the holds: a witness is the guard's.
  say({"CLIENT", "SETINFO", "LIB-NAME", options.witness ? "holdfast(guard)" : "holdfast"});
  say({"CLIENT", "SETINFO", "LIB-VER", options.library_version});
}

// Where HELLO does not say it; a service's has been asked already.
void Greeting::ask_role(const StreamOptions& options, bool resp3) {
  says_role_ = options.signs && asks_role_ && !resp3 && options.service.empty();
  if (says_role_) say({"ROLE"});
}

void Greeting::say_label(const StreamOptions& options) {
  says_label_ = introduces_ && labelled_ && !options.label.bytes().empty();
  if (says_label_) say(options.label);
}

// The reply that was taken; only the one about tracking is behind the label's.
bool Greeting::is_of_label(const Tracking& tracking) const {
  return says_label_ && missing_ == (tracking.requested() ? 1 : 0);
}

std::optional<Greeting::Failure> Greeting::take(const resp::Reply& reply,
                                                const StreamOptions& options, Tracking& tracking,
                                                TimePoint now) {
  --missing_;
  if (missing_ == after_hello_) {
    tracking.hello(reply);
    resp3_ = !reply.is_error();
    if (resp3_) role_ = role_named(reply.field("role"));
  }
  if (missing_ < optional_) return take_optional(reply, options, tracking, now);
  const bool says_role = missing_ == optional_ && !options.service.empty();
  if (says_role && reply.is_array() && reply.text_at(0) != "master") {
    const std::string why = options.address.text() + " is a replica, not a primary";
    return Failure{Status::unreachable(why), true};
  }
  if (!reply.is_error()) return std::nullopt;
  return refused(std::string(without_arguments(reply.text())), options, tracking);
}

std::optional<Greeting::Failure> Greeting::take_optional(const resp::Reply& reply,
                                                         const StreamOptions& options,
                                                         Tracking& tracking, TimePoint now) {
  // Whatever was sent without a password.
  if (reply.is_error() && reply.text().substr(0, 7) == "NOAUTH ") {
    excuse();
    return refused(std::string(reply.text()), options, tracking);
  }
  if (take_apart(reply, tracking, now)) return std::nullopt;
  // Some servers hang up after an error: the next greeting must not end so.
  introduces_ = introduces_ && !reply.is_error();
  if (reply.text().substr(0, 3) == "id=") connection_ = reply.text();
  return std::nullopt;
}

// True: it was the reply to ROLE, CLIENT TRACKING or the label, which say nothing about the others.
bool Greeting::take_apart(const resp::Reply& reply, Tracking& tracking, TimePoint now) {
  if (says_role_ && missing_ == optional_ - 1) {
    role_ = role_of(reply);
    asks_role_ = !reply.is_error();
  } else if (answered() && tracking.requested()) {
    tracking.answered(reply, now);
  } else if (is_of_label(tracking)) {
    labelled_ = labelled_ && !reply.is_error();
  } else {
    return false;
  }
  return true;
}

std::optional<Greeting::Failure> Greeting::refused(const std::string& text,
                                                   const StreamOptions& options,
                                                   const Tracking& tracking) const {
  const std::string word = text.substr(0, text.find(' '));
  if (stays_with_resp2(word, options, tracking)) return std::nullopt;
  const std::string server = options.address.text();
  if (resp::passes_there(text)) {
    return Failure{Status::unreachable(server + " is not ready: " + text)};
  }
  const int behind_hello = after_hello_ - missing_;
  const bool for_tracking = tracking.required() && (behind_hello == 0 || behind_hello == 1);
  return Failure{refused_greeting(server, text, word, for_tracking)};
}

// Servers before Redis 6, and proxies, do not know HELLO, or not its 3. The rest of the greeting
// holds as it is.
bool Greeting::stays_with_resp2(std::string_view word, const StreamOptions& options,
                                const Tracking& tracking) const {
  const bool needs_resp2_only = word == "ERR" || word == "NOPROTO" || !options.resp3;
  return missing_ == after_hello_ && needs_resp2_only && !tracking.required();
}

void Greeting::broken() {
  if (!excused_ && missing_ <= optional_) introduces_ = asks_role_ = false;
}

}  // namespace holdfast::client
