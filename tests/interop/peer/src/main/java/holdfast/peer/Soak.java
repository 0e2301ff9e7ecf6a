package holdfast.peer;

import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Rounds of lock, read the counter, write it back plus one, unlock: a counter that falls behind the
 * rounds shows two holders at once. Ends after "iterations" rounds or when "forMs" are over, and
 * pauses up to "pauseMs" between two rounds, so that the others get their turns.
 */
final class Soak {
  private final RBucket<String> counter;
  private final long iterations;
  private final long endNanos;
  private final long pauseMicros;

  Soak(RedissonClient client, Request request) {
    counter = client.getBucket(request.text("counter"), StringCodec.INSTANCE);
    iterations = request.number("iterations");
    endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(request.number("forMs"));
    pauseMicros = TimeUnit.MILLISECONDS.toMicros(request.number("pauseMs"));
  }

  /** The kind of a read and a write lock together: its one operation counts and looks in turn. */
  static Kind ofReadWriteLocks(RedissonClient client) {
    return new Operations<RReadWriteLock>(
        client::getReadWriteLock,
        Map.of("soak", (lock, request) -> new Soak(client, request).run(lock)));
  }

  /** Returns the number of rounds done. */
  long run(RLock lock) throws InterruptedException {
    return rounds(() -> under(lock, this::count));
  }

  /**
   * Each round has a second half: lock for reading, look at the counter twice, unlock; a counter
   * that moves meanwhile throws IllegalStateException.
   */
  private long run(RReadWriteLock lock) throws InterruptedException {
    return rounds(
        () -> {
          under(lock.writeLock(), this::count);
          under(lock.readLock(), this::look);
        });
  }

  private long rounds(Runnable round) throws InterruptedException {
    long rounds = 0;
    while (rounds < iterations && System.nanoTime() - endNanos < 0) {
      round.run();
      rounds++;
      TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextLong(pauseMicros + 1));
    }
    return rounds;
  }

  private static void under(RLock lock, Runnable work) {
    lock.lock();
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  private void count() {
    String value = counter.get();
    counter.set(Long.toString(value == null ? 1 : Long.parseLong(value) + 1));
  }

  private void look() {
    String before = counter.get();
    String after = counter.get();
    if (!before.equals(after)) {
      throw new IllegalStateException("a writer among readers: " + before + ", then " + after);
    }
  }
}
