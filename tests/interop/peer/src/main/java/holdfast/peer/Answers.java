package holdfast.peer;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.Map;

/** Writes one JSON object a line; any thread may call. */
final class Answers {
  private final Gson gson = new GsonBuilder().serializeNulls().create();
  private final PrintStream out;

  /** The stream belongs to the answers alone. */
  Answers(PrintStream out) {
    this.out = out;
  }

  /** The first line of all: the peer takes requests now. */
  void ready(String clientId, String redissonVersion) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("ready", clientId);
    line.put("redisson", redissonVersion);
    write(line);
  }

  /** Calls the kind and answers with what it returned or threw, and when: System.nanoTime. */
  void answer(Request request, Kind kind) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("id", request.id());
    long began = System.nanoTime();
    try {
      line.put("ok", kind.call(request));
    } catch (Exception e) {
      line.put("error", e.getClass().getName());
      line.put("message", String.valueOf(e.getMessage()));
    }
    line.put("began", began);
    line.put("ended", System.nanoTime());
    write(line);
  }

  private synchronized void write(Map<String, Object> line) {
    out.println(gson.toJson(line));
    out.flush();
  }
}
