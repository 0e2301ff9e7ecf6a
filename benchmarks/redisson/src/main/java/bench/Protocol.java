package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The worker protocol: words in, JSON lines out, and the runner's moments. */
final class Protocol {
    private final Map<String, String> words = new HashMap<>(Map.of("name", "bench", "kind", "lock"));
    private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));

    Protocol(String[] arguments) {
        for (String argument : arguments) {
            String[] halves = argument.split("=", 2);
            words.put(halves[0], halves[1]);
        }
    }

    String word(String key) {
        return words.get(key);
    }

    /** Of the servers of a lock over several, or of a cluster; else the one server's. */
    List<String> addresses() {
        return Arrays.stream(words.getOrDefault("ports", word("port")).split(","))
                .map(port -> "redis://127.0.0.1:" + port)
                .toList();
    }

    double number(String key, double fallback) {
        return words.containsKey(key) ? Double.parseDouble(words.get(key)) : fallback;
    }

    int whole(String key, int fallback) {
        return (int) number(key, fallback);
    }

    long nanos(String key, double fallbackSeconds) {
        return (long) (number(key, fallbackSeconds) * 1e9);
    }

    String lockName(int worker) {
        return whole("own", 0) != 0 ? ownName(worker) : word("name");
    }

    String ownName(int worker) {
        return word("name") + ":" + worker;
    }

    void ready() {
        System.out.println("{\"ready\": true}");
    }

    void result(String key, long value) {
        System.out.println("{\"" + key + "\": " + value + "}");
    }

    void result(String json) {
        System.out.println(json);
    }

    /** Waits for the runner's word to go on. */
    long moment() throws IOException {
        return Long.parseLong(input.readLine().trim());
    }

    /** CLOCK_MONOTONIC, the same for every process of the machine (on Linux). */
    static long now() {
        return System.nanoTime();
    }

    static void sleepUntil(long moment) throws InterruptedException {
        long left = moment - now();
        if (left > 0) {
            Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
        }
    }

    static String json(List<Long> values) {
        return values.toString();
    }

    static String json(List<Long>[] lists) {
        return Arrays.stream(lists).map(Protocol::json).collect(Collectors.joining(",", "[", "]"));
    }
}
