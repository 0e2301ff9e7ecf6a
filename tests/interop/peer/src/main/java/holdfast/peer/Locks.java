package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import holdfast.peer.Operations.Lookup;
import holdfast.peer.Operations.Operation;
import java.util.Map;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** What can be asked of everything that is an RLock; times are milliseconds. */
final class Locks {
  private Locks() {}

  static Kind kind(RedissonClient client, Lookup<RLock> lookup) {
    return new Operations<>(
        lookup,
        Map.<String, Operation<RLock>>ofEntries(
            Map.entry("lock", Locks::lock),
            Map.entry("tryLock", Locks::tryLock),
            Map.entry("unlock", Locks::unlock),
            Map.entry("forceUnlock", (lock, request) -> lock.forceUnlock()),
            Map.entry("isLocked", (lock, request) -> lock.isLocked()),
            Map.entry("isHeldByCurrentThread", (lock, request) -> lock.isHeldByCurrentThread()),
            Map.entry("holdCount", (lock, request) -> lock.getHoldCount()),
            Map.entry("remainTimeToLive", (lock, request) -> lock.remainTimeToLive()),
            Map.entry("soak", (lock, request) -> new Soak(client, request).run(lock))));
  }

  /** Waits without limit; "leaseMs" is optional. */
  private static Object lock(RLock lock, Request request) {
    if (request.has("leaseMs")) {
      lock.lock(request.number("leaseMs"), MILLISECONDS);
    } else {
      lock.lock();
    }
    return null;
  }

  /** One try without "waitMs"; "leaseMs" may be added to "waitMs". */
  private static Object tryLock(RLock lock, Request request) throws InterruptedException {
    if (request.has("leaseMs")) {
      return lock.tryLock(request.number("waitMs"), request.number("leaseMs"), MILLISECONDS);
    }
    if (request.has("waitMs")) {
      return lock.tryLock(request.number("waitMs"), MILLISECONDS);
    }
    return lock.tryLock();
  }

  private static Object unlock(RLock lock, Request request) {
    lock.unlock();
    return null;
  }
}
