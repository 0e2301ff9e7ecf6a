#include "client/login.h"

#include <string>
#include <utility>

#include "client/reconnecting_stream.h"
#include "client/stream_errors.h"

namespace holdfast::client {

namespace {

class LoginRequest final : public Request {
 public:
  LoginRequest(LoginPtr login, std::shared_ptr<StreamWitness> witness)
      : login_(std::move(login)), witness_(std::move(witness)) {}

  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += auth_command(login_->who)->bytes();
    return resp::ReplyKind::kStatus;
  }
  // A stream that has ended meanwhile is made anew with credentials of that time.
  void complete(Result<resp::Reply> reply, const Sent& /*sent*/) override {
    if (!reply.ok()) return;
    if (reply.value().is_error()) return login_->refused(login_refused({}, reply.value().text()));
    if (witness_) witness_->reauthenticated(login_->who);
  }

 private:
  const LoginPtr login_;
  const std::shared_ptr<StreamWitness> witness_;
};

}  // namespace

std::optional<resp::Command> auth_command(const net::Credentials& who) {
  if (!who.username.empty()) return resp::Command{"AUTH", who.username, who.password};
  if (!who.password.empty()) return resp::Command{"AUTH", who.password};
  return std::nullopt;
}

RequestPtr login_request(LoginPtr login, std::shared_ptr<StreamWitness> witness) {
  return std::make_shared<LoginRequest>(std::move(login), std::move(witness));
}

Status login_refused(const net::Address& server, std::string_view reply) {
  const std::string where = server.host.empty() ? "the server" : server.text();
  return Status::server(std::string(reply.substr(0, reply.find(' '))),
                        where + " refused AUTH: " + std::string(without_arguments(reply)));
}

}  // namespace holdfast::client
