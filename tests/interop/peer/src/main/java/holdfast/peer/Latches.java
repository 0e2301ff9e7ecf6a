package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import holdfast.peer.Operations.Operation;
import java.util.Map;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RedissonClient;

/** What can be asked of a count-down latch. */
final class Latches {
  private Latches() {}

  static Kind kind(RedissonClient client) {
    return new Operations<>(
        client::getCountDownLatch,
        Map.<String, Operation<RCountDownLatch>>ofEntries(
            Map.entry("trySetCount", (latch, request) -> latch.trySetCount(request.number("count"))),
            Map.entry("await", Latches::await),
            Map.entry("countDown", Latches::countDown),
            Map.entry("getCount", (latch, request) -> latch.getCount()),
            Map.entry("delete", (latch, request) -> latch.delete())));
  }

  /** Returns whether it opened within "waitMs". */
  private static Object await(RCountDownLatch latch, Request request) throws InterruptedException {
    return latch.await(request.number("waitMs"), MILLISECONDS);
  }

  private static Object countDown(RCountDownLatch latch, Request request) {
    latch.countDown();
    return null;
  }
}
