package holdfast.peer;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.redisson.config.Config;

/** The command line: --address=redis://HOST:PORT [--lock-watchdog-timeout=MS] [--threads=N]. */
record Options(String address, long lockWatchdogTimeout, int threads) {
  private static final Set<String> NAMES = Set.of("address", "lock-watchdog-timeout", "threads");

  /** Throws IllegalArgumentException for an unknown option or one without a value. */
  static Options parse(String[] args) {
    Map<String, String> values = new HashMap<>();
    for (String arg : args) {
      String[] parts = arg.split("=", 2);
      String name = parts[0].startsWith("--") ? parts[0].substring(2) : "";
      if (parts.length != 2 || !NAMES.contains(name)) {
        throw new IllegalArgumentException("bad option " + arg + "; known: " + NAMES);
      }
      values.put(name, parts[1]);
    }
    if (!values.containsKey("address")) {
      throw new IllegalArgumentException("--address is missing");
    }
    return new Options(
        values.get("address"),
        Long.parseLong(values.getOrDefault("lock-watchdog-timeout", "30000")),
        Integer.parseInt(values.getOrDefault("threads", "4")));
  }

  /** Redisson's configuration: defaults but for these options and small pools of threads. */
  Config config() {
    Config config = new Config();
    config.setLockWatchdogTimeout(lockWatchdogTimeout);
    config.setThreads(threads);
    config.setNettyThreads(threads);
    config
        .useSingleServer()
        .setAddress(address)
        .setConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
    return config;
  }
}
