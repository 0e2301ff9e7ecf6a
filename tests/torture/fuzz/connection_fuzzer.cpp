// What a server sends to a connection with commands under way: a request completes once, and with a
// reply of a kind and range that its command can have, or an error; what is unanswered goes out
// again.

#include <cstdlib>
#include <string>
#include <vector>

#include "byte_stream.h"
#include "client/connection.h"
#include "resp/command.h"

namespace holdfast {
namespace {

using resp::ReplyKind;
using resp::ReplyKinds;

constexpr ReplyKinds kKinds[] = {
    (ReplyKind::kNil | ReplyKind::kInteger).within(-3, 1000),
    ReplyKinds(ReplyKind::kText).decimal(),
    ReplyKinds(ReplyKind::kArray).arrays_of(ReplyKinds::Array::kPlaces).about(2),
    (ReplyKind::kArray | ReplyKind::kInteger).within(0, 1).arrays_of(ReplyKinds::Array::kFew),
};

class Step final : public client::Request {
 public:
  explicit Step(ReplyKinds kinds) : kinds_(kinds) {}
  std::string_view key() const override { return "name"; }
  ReplyKinds encode(std::string& out) const override {
    out += resp::Command({"STEP"}).bytes();
    return kinds_;
  }
  void complete(Result<resp::Reply> reply, const client::Sent& /*sent*/) override {
    if (std::exchange(done_, true)) std::abort();
    if (reply.ok() && !kinds_.allow(reply.value())) std::abort();
  }
  bool done() const { return done_; }

 private:
  const ReplyKinds kinds_;
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
