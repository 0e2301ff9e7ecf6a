package holdfast.peer;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;

/**
 * A Redisson client driven over stdin and stdout, a JSON object a line. Each request names the
 * thread that runs it; the requests of one thread run in order, those of several side by side, and
 * each is answered when it is done. The process ends, releasing nothing, when its input does.
 */
public final class Peer {
  private final Map<String, ExecutorService> workers = new HashMap<>();
  private final Map<String, Kind> kinds;
  private final Answers answers;

  private Peer(RedissonClient client, Answers answers) {
    this.answers = answers;
    kinds =
        Map.of(
            "peer", new Self(client),
            "lock", Locks.kind(client, client::getLock));
  }

  public static void main(String[] args) throws IOException {
    PrintStream out =
        new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    System.setOut(System.err);
    Answers answers = new Answers(out);
    RedissonClient client = Redisson.create(Options.parse(args).config());
    answers.ready(client.getId(), RedissonClient.class.getPackage().getImplementationVersion());
    new Peer(client, answers).serve();
    Runtime.getRuntime().halt(0);
  }

  private void serve() throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Request request = Request.parse(line);
      Kind kind = kinds.getOrDefault(request.kind(), Peer::unknown);
      workers
          .computeIfAbsent(request.thread(), Peer::worker)
          .execute(() -> answers.answer(request, kind));
    }
  }

  private static Object unknown(Request request) {
    throw new IllegalArgumentException("no kind \"" + request.kind() + "\"");
  }

  private static ExecutorService worker(String name) {
    return Executors.newSingleThreadExecutor(
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          return thread;
        });
  }
}
