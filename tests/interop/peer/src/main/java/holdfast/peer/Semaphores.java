package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import holdfast.peer.Operations.Operation;
import java.lang.reflect.Method;
import java.util.Map;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** What can be asked of a semaphore; "permits" is needed wherever a number is. */
final class Semaphores {
  private Semaphores() {}

  static Kind kind(RedissonClient client) {
    return new Operations<>(
        client::getSemaphore,
        Map.<String, Operation<RSemaphore>>ofEntries(
            Map.entry("trySetPermits", (it, request) -> it.trySetPermits(permits(request))),
            Map.entry("acquire", Semaphores::acquire),
            Map.entry("tryAcquire", Semaphores::tryAcquire),
            Map.entry("release", Semaphores::release),
            Map.entry("releaseIfExists", Semaphores::releaseIfExists),
            Map.entry("availablePermits", (it, request) -> it.availablePermits()),
            Map.entry("drainPermits", (it, request) -> it.drainPermits()),
            Map.entry("addPermits", Semaphores::addPermits),
            Map.entry("delete", (it, request) -> it.delete())));
  }

  private static Object acquire(RSemaphore semaphore, Request request) throws InterruptedException {
    semaphore.acquire(permits(request));
    return null;
  }

  /** One try without "waitMs". */
  @SuppressWarnings("deprecation") // 3.17.6 has no other with a time
  private static Object tryAcquire(RSemaphore semaphore, Request request)
      throws InterruptedException {
    if (request.has("waitMs")) {
      return semaphore.tryAcquire(permits(request), request.number("waitMs"), MILLISECONDS);
    }
    return semaphore.tryAcquire(permits(request));
  }

  private static Object release(RSemaphore semaphore, Request request) {
    semaphore.release(permits(request));
    return null;
  }

  /** From 4.0 on. */
  private static Object releaseIfExists(RSemaphore semaphore, Request request) throws Exception {
    Method method = Newer.method(RSemaphore.class.getName(), "releaseIfExists", int.class);
    return Newer.invoke(method, semaphore, permits(request));
  }

  private static Object addPermits(RSemaphore semaphore, Request request) {
    semaphore.addPermits(permits(request));
    return null;
  }

  private static int permits(Request request) {
    return Math.toIntExact(request.number("permits"));
  }
}
