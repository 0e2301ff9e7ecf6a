package holdfast.peer;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;

/**
 * A Redisson client for each address, driven over stdin and stdout, a JSON object a line; all but
 * the locks over several servers are of the first. Each request names the thread that runs it; the
 * requests of one thread run in order, those of several side by side, and each is answered when it
 * is done. The process ends, releasing nothing, when its input does.
 */
public final class Peer {
  private final Map<String, ExecutorService> workers = new HashMap<>();
  private final Map<String, Kind> kinds;
  private final Answers answers;

  private Peer(List<RedissonClient> servers, Answers answers) {
    this.answers = answers;
    RedissonClient client = servers.get(0);
    Members members = new Members(servers);
    kinds =
        Map.ofEntries(
            Map.entry("peer", new Self(client)),
            Map.entry("lock", Locks.kind(client, client::getLock)),
            Map.entry("fair", Locks.kind(client, client::getFairLock)),
            Map.entry("spin", Locks.kind(client, client::getSpinLock)),
            Map.entry("fenced", FencedLocks.locks(client)),
            Map.entry("token", FencedLocks.tokens(client)),
            Map.entry("read", Locks.kind(client, it -> client.getReadWriteLock(it).readLock())),
            Map.entry("write", Locks.kind(client, it -> client.getReadWriteLock(it).writeLock())),
            Map.entry("readWrite", Soak.ofReadWriteLocks(client)),
            Map.entry("multi", members.multi()),
            Map.entry("red", members.red()),
            Map.entry("semaphore", Semaphores.kind(client)),
            Map.entry("permits", PermitSemaphores.kind(client)),
            Map.entry("latch", Latches.kind(client)));
  }

  public static void main(String[] args) throws Exception {
    PrintStream out =
        new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    System.setOut(System.err);
    Answers answers = new Answers(out);
    List<RedissonClient> servers =
        Options.parse(args).configs().stream().map(Redisson::create).toList();
    answers.ready(
        servers.get(0).getId(), RedissonClient.class.getPackage().getImplementationVersion());
    new Peer(servers, answers).serve();
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
