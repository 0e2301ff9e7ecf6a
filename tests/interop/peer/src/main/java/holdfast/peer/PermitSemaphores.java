package holdfast.peer;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import holdfast.peer.Operations.Operation;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** What can be asked of a semaphore whose permits expire; "permit" is an id of 32 hex digits. */
final class PermitSemaphores {
  private static final long NEVER = -1;

  private PermitSemaphores() {}

  static Kind kind(RedissonClient client) {
    return new Operations<>(
        client::getPermitExpirableSemaphore,
        Map.<String, Operation<RPermitExpirableSemaphore>>ofEntries(
            Map.entry("trySetPermits", (it, request) -> it.trySetPermits(permits(request))),
            Map.entry("acquire", PermitSemaphores::acquire),
            Map.entry("tryAcquire", PermitSemaphores::tryAcquire),
            Map.entry("release", PermitSemaphores::release),
            Map.entry("tryRelease", (it, request) -> it.tryRelease(request.text("permit"))),
            Map.entry("updateLeaseTime", PermitSemaphores::updateLeaseTime),
            Map.entry("availablePermits", (it, request) -> it.availablePermits()),
            Map.entry("addPermits", PermitSemaphores::addPermits),
            Map.entry("delete", (it, request) -> it.delete()),
            Map.entry("acquireMany", PermitSemaphores::acquireMany),
            Map.entry("tryAcquireMany", PermitSemaphores::tryAcquireMany),
            Map.entry("releaseMany", PermitSemaphores::releaseMany),
            Map.entry("setPermits", PermitSemaphores::setPermits),
            Map.entry("getPermits", (it, request) -> ask(it, "getPermits")),
            Map.entry("acquiredPermits", (it, request) -> ask(it, "acquiredPermits")),
            Map.entry("getLeaseTime", PermitSemaphores::getLeaseTime)));
  }

  /** Waits without limit; needs "permits" and "leaseMs". As all that follows, from 3.24 on. */
  private static Object acquireMany(RPermitExpirableSemaphore semaphore, Request request)
      throws Exception {
    return Newer.invoke(
        newer("acquire", int.class, long.class, TimeUnit.class),
        semaphore,
        permits(request),
        request.number("leaseMs"),
        MILLISECONDS);
  }

  /** Returns no permits when they were not free in time. */
  private static Object tryAcquireMany(RPermitExpirableSemaphore semaphore, Request request)
      throws Exception {
    return Newer.invoke(
        newer("tryAcquire", int.class, long.class, long.class, TimeUnit.class),
        semaphore,
        permits(request),
        request.number("waitMs"),
        request.number("leaseMs"),
        MILLISECONDS);
  }

  /** "permit": the ids, with a comma between them. */
  private static Object releaseMany(RPermitExpirableSemaphore semaphore, Request request)
      throws Exception {
    List<String> permits = List.of(request.text("permit").split(","));
    return Newer.invoke(newer("release", List.class), semaphore, permits);
  }

  private static Object setPermits(RPermitExpirableSemaphore semaphore, Request request)
      throws Exception {
    return Newer.invoke(newer("setPermits", int.class), semaphore, permits(request));
  }

  private static Object getLeaseTime(RPermitExpirableSemaphore semaphore, Request request)
      throws Exception {
    return Newer.invoke(newer("getLeaseTime", String.class), semaphore, request.text("permit"));
  }

  private static Object ask(RPermitExpirableSemaphore semaphore, String name) throws Exception {
    return Newer.invoke(newer(name), semaphore);
  }

  private static Method newer(String name, Class<?>... parameters) throws Exception {
    return Newer.method(RPermitExpirableSemaphore.class.getName(), name, parameters);
  }

  /** Waits without limit and returns the permit; it never expires without "leaseMs". */
  private static Object acquire(RPermitExpirableSemaphore semaphore, Request request)
      throws InterruptedException {
    return request.has("leaseMs")
        ? semaphore.acquire(request.number("leaseMs"), MILLISECONDS)
        : semaphore.acquire();
  }

  /** Returns the permit or null; "waitMs" and "leaseMs" are optional. */
  private static Object tryAcquire(RPermitExpirableSemaphore semaphore, Request request)
      throws InterruptedException {
    long wait = request.has("waitMs") ? request.number("waitMs") : 0;
    long lease = request.has("leaseMs") ? request.number("leaseMs") : NEVER;
    return semaphore.tryAcquire(wait, lease, MILLISECONDS);
  }

  private static Object release(RPermitExpirableSemaphore semaphore, Request request) {
    semaphore.release(request.text("permit"));
    return null;
  }

  private static Object updateLeaseTime(RPermitExpirableSemaphore semaphore, Request request) {
    return semaphore.updateLeaseTime(
        request.text("permit"), request.number("leaseMs"), MILLISECONDS);
  }

  private static Object addPermits(RPermitExpirableSemaphore semaphore, Request request) {
    semaphore.addPermits(permits(request));
    return null;
  }

  private static int permits(Request request) {
    return Math.toIntExact(request.number("permits"));
  }
}
