#include "redis/client/greeting.h"

#include <utility>

#include "redis/client/login.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

namespace {

// For AUTH beside subscriptions, too.
bool wants_resp3(const StreamOptions& options) {
  return options.resp3 || (options.pushes && options.reauthenticates);
}

bool wants_role(const StreamOptions& options) {
  return options.signs || options.asks_role || !options.service.empty();
}

Role role_named(std::string_view word) {
  if (word == "master") return Role::kPrimary;
  return word == "slave" || word == "replica" ? Role::kReplica : Role::kUnknown;
}

}  // namespace

Role role_of(const resp::Reply& reply) {
  const Role role = role_named(reply.text_at(0));
  return role == Role::kUnknown ? role_named(reply.field("role")) : role;
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
  const bool resp3 = wants_resp3(options) || tracking.requested() || tracking.required();
  if (resp3) say({"HELLO", "3"});
  const int hello = resp3 ? missing_ : 0;
  if (tracking.required()) say({"CLIENT", "TRACKING", "OFF"});
  if (options.database != 0) say({"SELECT", std::to_string(options.database)});
  optional_ = -missing_;
  spares_ = std::exchange(spared_, false);
  // HELLO 3 says it, too.
  says_role_ = !resp3 && !spares_ && wants_role(options) && asks_ != Asks::kNothing;
  if (says_role_) say(role_command());
  say_name(options);
  if (tracking.requested()) say({"CLIENT", "TRACKING", "ON", "NOLOOP"});
  optional_ += missing_;
  after_hello_ = resp3 ? missing_ - hello : -1;
}

void Greeting::say(const resp::Command& command) {
  unsent += command.bytes();
  ++missing_;
}

// For people who look at the server; whatever becomes of it, the stream is as good.
void Greeting::say_name(const StreamOptions& options) {
  says_label_ = false;
  if (!says_name_ || spares_) return;
  if (!options.client_name.empty()) say({"CLIENT", "SETNAME", options.client_name});
  if (options.witness) say({"CLIENT", "INFO"});
  for (const resp::Command& command : options.also_sent) say(command);
  if (!options.library_version.empty()) {
    // The inspector shows it with the holds: a witness is the guard's.
    say({"CLIENT", "SETINFO", "LIB-NAME", options.witness ? "holdfast(guard)" : "holdfast"});
    say({"CLIENT", "SETINFO", "LIB-VER", options.library_version});
  }
  says_label_ = labelled_ && !options.label.bytes().empty();
  if (says_label_) say(options.label);
}

resp::Command Greeting::role_command() const {
  if (asks_ == Asks::kRole) return {"ROLE"};
  return {"HELLO", resp3_ ? "3" : "2"};
}

// When all is answered, and HELLO is what the server does not know.
void Greeting::ask_again(const StreamOptions& options) {
  if (asks_ != Asks::kRole || says_role_ || spares_ || resp3_ || !wants_role(options)) return;
  says_role_ = true;
  optional_ = 1;
  after_hello_ = -1;
  say(role_command());
}

std::optional<Greeting::Failure> Greeting::take(const resp::Reply& reply,
                                                const StreamOptions& options, Tracking& tracking,
                                                TimePoint now) {
  --missing_;
  if (missing_ == after_hello_) {
    tracking.hello(reply);
    resp3_ = !reply.is_error();
    if (resp3_) role_ = role_of(reply);
    if (!resp3_ && asks_ == Asks::kHello) asks_ = Asks::kRole;
  }
  if (missing_ < optional_) {
    if (auto failure = take_optional(reply, options, tracking, now)) return failure;
  } else if (reply.is_error()) {
    auto failure = refused(std::string(without_arguments(reply.text())), options, tracking);
    if (failure) return failure;
  }
  if (role_ == Role::kReplica && !options.service.empty()) {
    excuse();
    const std::string why = options.address.text() + " is a replica, not a primary";
    return Failure{Status::unreachable(why), true};
  }
  if (answered()) ask_again(options);
  return std::nullopt;
}

std::optional<Greeting::Failure> Greeting::take_optional(const resp::Reply& reply,
                                                         const StreamOptions& options,
                                                         Tracking& tracking, TimePoint now) {
  // Whatever was sent without a password.
  if (reply.is_error() && reply.text().substr(0, 7) == "NOAUTH ") {
    excuse();
    return refused(std::string(reply.text()), options, tracking);
  }
  // The replies about the role, to CLIENT TRACKING, which is the last, and to the label, which is
  // in front of that one, say nothing about the others.
  if (says_role_ && missing_ == optional_ - 1) {
    says_role_ = asks_ == Asks::kRole;
    role_ = role_of(reply);
    if (reply.is_error()) asks_ = says_role_ ? Asks::kNothing : Asks::kRole;
  } else if (answered() && tracking.requested()) {
    tracking.answered(reply, now);
  } else if (says_label_ && missing_ == (tracking.requested() ? 1 : 0)) {
    labelled_ = !reply.is_error() || resp::pace_of_release(reply.text()) != resp::Pace::kNever;
  } else {
    // Some servers hang up after an error: the next greeting must not end so.
    says_name_ = says_name_ && !reply.is_error();
    if (reply.text().substr(0, 3) == "id=") connection_ = reply.text();
  }
  return std::nullopt;
}

std::optional<Greeting::Failure> Greeting::refused(const std::string& text,
                                                   const StreamOptions& options,
                                                   const Tracking& tracking) const {
  const std::string word = text.substr(0, text.find(' '));
  // Servers before Redis 6, and proxies, do not know HELLO, or not its 3. The rest of the greeting
  // holds as it is.
  const bool resp2_does = word == "ERR" || word == "NOPROTO" || !options.resp3;
  if (missing_ == after_hello_ && resp2_does && !tracking.required()) return std::nullopt;
  const std::string server = options.address.text();
  if (resp::passes_there(text)) {
    return Failure{Status::unreachable(server + " is not ready: " + text)};
  }
  const int behind_hello = after_hello_ - missing_;
  const bool for_tracking = tracking.required() && (behind_hello == 0 || behind_hello == 1);
  return Failure{refused_greeting(server, text, word, for_tracking)};
}

void Greeting::broken() { spared_ = !excused_ && missing_ <= optional_; }

}  // namespace holdfast::client
