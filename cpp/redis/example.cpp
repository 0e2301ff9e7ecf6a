// The client of Redis by itself: sends a command to the server at 127.0.0.1, and prints the reply.
//
//     redis_example <port> <word>...

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/client.h"

using namespace holdfast;  // NOLINT(google-build-using-namespace): a program of one page

int main(int count, char** words) {
  if (count < 3) return EXIT_FAILURE;
  const SystemClock clock;
  net::EventLoop loop(clock, "example");
  topology::Setup setup;
  setup.link.address = {"127.0.0.1", static_cast<std::uint16_t>(std::atoi(words[1])), {}};
  setup.endpoint.addresses = {setup.link.address};
  setup.link.retries = 0;  // the first attempt that fails is the answer
  const auto topology = topology::make(clock, {loop, loop}, setup);

  Result<resp::Reply> answer = Status::unreachable("no reply yet");
  client::ServeControl control;  // done: this thread stops waiting
  Parker& parker = Parker::of_this_thread();
  const auto request = std::make_shared<client::PlainRequest>(
      resp::Command(std::vector<std::string_view>(words + 2, words + count)),
      resp::ReplyKinds::any(), [&](Result<resp::Reply> reply, const client::Sent&) {
        answer = std::move(reply);
        control.done = true;
        parker.notify();
      });
  request->deadline = after(clock.now(), Millis(5000));

  // This thread connects, sends and reads: the loop has nothing to do.
  const auto connection = topology->route({}, topology::Traffic::kCalls);
  if (!connection->submit(request, &parker).ok()) return EXIT_FAILURE;
  connection->serve(parker, control, kNever);
  topology->close(Status::closed("the program ends"));
  std::cout << (answer.ok() ? std::string(answer.value().text()) : answer.status().message())
            << "\n";
  return answer.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
