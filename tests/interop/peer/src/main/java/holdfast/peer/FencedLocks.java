package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import holdfast.peer.Operations.Lookup;
import holdfast.peer.Operations.Operation;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * The locks with a token, which not every release has, hence by reflection: what can be asked of an
 * RLock and, as {@link #tokens}, what only they have.
 */
final class FencedLocks {
  private static final String LOCK = "org.redisson.api.RFencedLock";

  private FencedLocks() {}

  /** What they have in common with all locks. */
  static Kind locks(RedissonClient client) {
    return Locks.kind(client, lookup(client));
  }

  /** Their tokens; null from a try that got nothing. */
  static Kind tokens(RedissonClient client) {
    return new Operations<>(
        lookup(client),
        Map.<String, Operation<RLock>>ofEntries(
            Map.entry("getToken", (lock, request) -> token("getToken", lock)),
            Map.entry("lockAndGetToken", (lock, request) -> token("lockAndGetToken", lock)),
            Map.entry("tryLockAndGetToken", FencedLocks::tryLockAndGetToken)));
  }

  /** "waitMs" and "leaseMs" are needed: without a time Redisson waits without limit. */
  private static Object tryLockAndGetToken(RLock lock, Request request) throws Exception {
    Method method = Newer.method(LOCK, request.op(), long.class, long.class, TimeUnit.class);
    return Newer.invoke(
        method, lock, request.number("waitMs"), request.number("leaseMs"), MILLISECONDS);
  }

  private static Object token(String operation, RLock lock) throws Exception {
    return Newer.invoke(Newer.method(LOCK, operation), lock);
  }

  private static Lookup<RLock> lookup(RedissonClient client) {
    return name -> {
      try {
        String clients = RedissonClient.class.getName();
        Method getter = Newer.method(clients, "getFencedLock", String.class);
        return (RLock) Newer.invoke(getter, client, name);
      } catch (Exception e) {
        throw new UnsupportedOperationException("no fenced lock in this release", e);
      }
    };
  }
}
