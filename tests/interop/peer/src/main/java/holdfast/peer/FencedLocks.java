package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import holdfast.peer.Operations.Lookup;
import holdfast.peer.Operations.Operation;
import java.lang.reflect.InvocationTargetException;
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
    Method method = method(LOCK, request.op(), long.class, long.class, TimeUnit.class);
    return invoke(
        method, lock, request.number("waitMs"), request.number("leaseMs"), MILLISECONDS);
  }

  private static Object token(String operation, RLock lock) throws Exception {
    return invoke(method(LOCK, operation), lock);
  }

  private static Lookup<RLock> lookup(RedissonClient client) {
    return name -> {
      try {
        Method getter = method(RedissonClient.class.getName(), "getFencedLock", String.class);
        return (RLock) invoke(getter, client, name);
      } catch (Exception e) {
        throw new UnsupportedOperationException("no fenced lock in this release", e);
      }
    };
  }

  private static Method method(String type, String name, Class<?>... parameters) throws Exception {
    return Class.forName(type).getMethod(name, parameters);
  }

  private static Object invoke(Method method, Object on, Object... arguments) throws Exception {
    try {
      return method.invoke(on, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }
}
