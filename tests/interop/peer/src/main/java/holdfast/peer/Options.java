package holdfast.peer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;

/**
 * The command line: --address=redis://HOST:PORT[,redis://…] [--lock-watchdog-timeout=MS]
 * [--threads=N]. An address redis+cluster://HOST:PORT[/DATABASE] is a cluster's, by one of its
 * servers; the database needs Redisson 4.
 */
record Options(List<String> addresses, long lockWatchdogTimeout, int threads) {
  private static final String CLUSTER = "redis+cluster://";
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
        List.of(values.get("address").split(",")),
        Long.parseLong(values.getOrDefault("lock-watchdog-timeout", "30000")),
        Integer.parseInt(values.getOrDefault("threads", "4")));
  }

  /** Redisson's configuration for each address: defaults but for these and small pools. */
  List<Config> configs() throws Exception {
    List<Config> configs = new ArrayList<>();
    for (String address : addresses) {
      configs.add(config(address));
    }
    return configs;
  }

  private Config config(String address) throws Exception {
    Config config = new Config();
    config.setLockWatchdogTimeout(lockWatchdogTimeout);
    config.setThreads(threads);
    config.setNettyThreads(threads);
    if (address.startsWith(CLUSTER)) {
      String[] parts = address.substring(CLUSTER.length()).split("/", 2);
      ClusterServersConfig servers =
          config
              .useClusterServers()
              .addNodeAddress("redis://" + parts[0])
              .setMasterConnectionMinimumIdleSize(1)
              .setSlaveConnectionMinimumIdleSize(1)
              .setSubscriptionConnectionMinimumIdleSize(1);
      if (parts.length > 1) {
        String type = ClusterServersConfig.class.getName();
        Newer.invoke(
            Newer.method(type, "setDatabase", int.class), servers, Integer.parseInt(parts[1]));
      }
      return config;
    }
    config
        .useSingleServer()
        .setAddress(address)
        .setConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
    return config;
  }
}
