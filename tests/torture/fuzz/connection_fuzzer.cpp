// What a server sends to a connection with commands under way: a request completes once, and with a
// reply of a kind and range that its script can have, or an error, as read here by other code than
// the engine's; what is unanswered goes out again.

#include <cstdlib>
#include <string>
#include <vector>

#include "byte_stream.h"
#include "lua_scripts.h"
#include "redis/client/connection.h"
#include "redis/resp/command.h"
#include "support/manual_clock.h"

namespace holdfast {
namespace {

namespace lua = script::lua;

bool is_time_left(const resp::Reply& reply) {
  return reply.is_nil() || (reply.is_integer() && reply.integer() >= -3);
}

bool is_token(const resp::Reply& reply) {
  constexpr const char* kDigits = "0123456789";
  if (reply.is_nil()) return true;
  const std::string_view text = reply.text();
  const std::size_t sign = text.substr(0, 1) == "-" ? 1 : 0;
  return reply.kind() == resp::ReplyKind::kText && text.size() > sign &&
         text.find_first_not_of(kDigits, sign) == std::string_view::npos;
}

bool are_places(const resp::Reply& reply) {
  if (reply.kind() != resp::ReplyKind::kArray || reply.size() > 2) return false;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    if (reply.integer_at(i) < 1 || reply.integer_at(i) > 2) return false;
  }
  return reply.size() < 2 || reply.integer_at(0) < reply.integer_at(1);
}

bool is_permit(const resp::Reply& reply) {
  if (reply.is_integer()) return reply.integer() >= -1;
  return reply.kind() == resp::ReplyKind::kArray && (reply.size() == 2 || reply.size() == 3) &&
         reply.at(0).is_integer() && reply.at(1).is_integer();
}

// A script, and whether it can have made a reply.
struct Kind {
  resp::ReplyKinds replies;
  bool (*possible)(const resp::Reply&);
};

constexpr Kind kKinds[] = {
    {lua::lock_acquire.replies, &is_time_left},
    {lua::fenced_lock_transfer.replies, &is_token},
    {lua::lock_renew.replies.about(2), &are_places},
    {lua::permit_semaphore_acquire.replies, &is_permit},
};

class Step final : public client::Request {
 public:
  explicit Step(const Kind& kind) : kind_(kind) {}
  std::string_view key() const override { return "name"; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += resp::Command({"STEP"}).bytes();
    return kind_.replies;
  }
  void complete(Result<resp::Reply> reply, const client::Sent& /*sent*/) override {
    if (std::exchange(done_, true)) std::abort();
    if (!reply.ok() || reply.value().is_error()) return;
    if (!kind_.possible(reply.value())) std::abort();
  }
  bool done() const { return done_; }

 private:
  const Kind& kind_;
  bool done_ = false;
};

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  if (size < 2) return 0;
  fuzz::Pieces pieces(data + 2, size - 2);
  ManualClock clock;
  fuzz::NoLoop loop;
  client::Connection::Setup setup;
  setup.driver = client::Connection::Driver::kLoop;
  setup.link.resp3 = data[0] >= 128;
  setup.open = [&pieces](const client::StreamOptions&) {
    return std::make_unique<fuzz::PieceTransport>(pieces);
  };
  const auto connection = std::make_shared<client::Connection>(clock, loop, setup);
  std::vector<std::shared_ptr<Step>> steps;
  constexpr int kMostSteps = 500;
  for (int step = 0; step < kMostSteps && !pieces.empty(); ++step) {
    if (step % (1 + data[0] % 4) == 0) {
      steps.push_back(std::make_shared<Step>(kKinds[(data[1] >> (step % 7)) % 4]));
      steps.back()->deadline = after(clock.now(), Millis(5000));
      (void)connection->submit(steps.back());
    }
    (void)connection->step(clock.now());
    clock.advance(Millis(20));
  }
  connection->close(Status::closed("over"));
  (void)connection->step(clock.now());
  for (const auto& step : steps) {
    if (!step->done()) std::abort();
  }
  return 0;
}
