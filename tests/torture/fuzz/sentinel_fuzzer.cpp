// What a sentinel says, from the greeting to its announcements, and what is made of it.

#include "byte_stream.h"
#include "redis/topology/sentinel_machine.h"
#include "redis/topology/sentinel_stream.h"
#include "support/manual_clock.h"

namespace holdfast {
namespace {

class Machine final : public topology::SentinelStream::Listener {
 public:
  explicit Machine(const Clock& clock)
      : clock_(clock), machine_("mymaster", {{"127.0.0.1", 26379, {}}}) {
    (void)machine_.start();
  }
  void on_said(const net::Address& sentinel, topology::Opinion opinion) override {
    (void)machine_.said(sentinel, std::move(opinion), clock_.now());
  }
  void on_failed(const net::Address& sentinel, const Status& why) override {
    (void)machine_.failed(sentinel, why, clock_.now());
  }
  void tick() { (void)machine_.tick(clock_.now()); }

 private:
  const Clock& clock_;
  topology::SentinelMachine machine_;
};

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  fuzz::Pieces pieces(data, size);
  ManualClock clock;
  fuzz::NoLoop loop;
  const auto machine = std::make_shared<Machine>(clock);
  client::StreamOptions options;
  options.address = {"127.0.0.1", 26379, {}};
  const auto stream = std::make_shared<topology::SentinelStream>(
      loop, options, "mymaster", machine, [&pieces](const client::StreamOptions&) {
        return std::make_unique<fuzz::PieceTransport>(pieces);
      });
  constexpr int kMostSteps = 500;
  for (int step = 0; step < kMostSteps && !pieces.empty(); ++step) {
    stream->step(clock.now());
    machine->tick();
    clock.advance(Millis(20));
  }
  stream->close();
  stream->step(clock.now());
  return 0;
}
