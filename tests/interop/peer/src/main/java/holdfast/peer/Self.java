package holdfast.peer;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import org.redisson.api.RedissonClient;

/** Questions to the peer itself, none of which reaches the server. */
final class Self implements Kind {
  /** Where Redisson parks a thread until a message or a timeout; replies are awaited elsewhere. */
  private static final Set<String> BEDS =
      Set.of("java.util.concurrent.Semaphore", "org.redisson.misc.ReclosableLatch");

  /** And where a spin lock pauses. */
  private static final String PAUSE = "java.lang.Thread.sleep";

  private final RedissonClient client;

  Self(RedissonClient client) {
    this.client = client;
  }

  @Override
  public Object call(Request request) {
    return switch (request.op()) {
      case "clock" -> System.nanoTime();
      case "owner" -> client.getId() + ":" + Thread.currentThread().getId();
      case "sleeps" -> sleeps(request.text("of"));
      default -> throw new IllegalArgumentException("no operation \"" + request.op() + "\"");
    };
  }

  /** Whether the worker of this name waits, and not for a reply. */
  private static boolean sleeps(String worker) {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(thread -> thread.getKey().getName().equals(worker))
        .anyMatch(Self::isParkedInBed);
  }

  private static boolean isParkedInBed(Map.Entry<Thread, StackTraceElement[]> thread) {
    Thread.State state = thread.getKey().getState();
    return (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING)
        && Arrays.stream(thread.getValue()).anyMatch(Self::isBed);
  }

  private static boolean isBed(StackTraceElement frame) {
    return BEDS.contains(frame.getClassName())
        || PAUSE.equals(frame.getClassName() + "." + frame.getMethodName());
  }
}
