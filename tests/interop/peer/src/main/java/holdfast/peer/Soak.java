package holdfast.peer;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Rounds of lock, read the counter, write it back plus one, unlock: a counter that falls behind the
 * rounds shows two holders at once. Ends after "iterations" rounds or when "forMs" are over, and
 * pauses up to "pauseMs" between two rounds, so that the others get their turns.
 */
final class Soak {
  private final RLock lock;
  private final RBucket<String> counter;
  private final long iterations;
  private final long endNanos;
  private final long pauseMicros;

  Soak(RedissonClient client, RLock lock, Request request) {
    this.lock = lock;
    counter = client.getBucket(request.text("counter"), StringCodec.INSTANCE);
    iterations = request.number("iterations");
    endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(request.number("forMs"));
    pauseMicros = TimeUnit.MILLISECONDS.toMicros(request.number("pauseMs"));
  }

  /** Returns the number of rounds done. */
  long run() throws InterruptedException {
    long rounds = 0;
    while (rounds < iterations && System.nanoTime() - endNanos < 0) {
      lock.lock();
      try {
        String value = counter.get();
        counter.set(Long.toString(value == null ? 1 : Long.parseLong(value) + 1));
      } finally {
        lock.unlock();
      }
      rounds++;
      TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextLong(pauseMicros + 1));
    }
    return rounds;
  }
}
