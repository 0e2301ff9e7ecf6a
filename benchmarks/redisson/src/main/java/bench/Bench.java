package bench;

import static bench.Protocol.json;
import static bench.Protocol.now;
import static bench.Protocol.sleepUntil;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The Java contender: {@code mode=… port=… …}, see ../README.md. */
public final class Bench {
    private static final int ACQUIRERS = 64;

    private final Protocol protocol;
    private final List<RedissonClient> clients;
    private final long leaseMillis;

    /** What a thread does; a checked exception ends the program. */
    private interface Body {
        void run(int worker) throws Exception;
    }

    private Bench(Protocol protocol) {
        this.protocol = protocol;
        long lease = protocol.nanos("lease", 0) / 1_000_000;
        boolean renewed = protocol.word("mode").equals("watchdog");
        leaseMillis = renewed || lease == 0 ? -1 : lease;
        clients = configs().stream().map(config -> {
            if (renewed) {
                config.setLockWatchdogTimeout(lease);
            }
            return Redisson.create(config);
        }).toList();
    }

    /** One for each server, or one for the cluster. */
    private List<Config> configs() {
        List<String> addresses = protocol.addresses();
        if (protocol.whole("cluster", 0) != 0) {
            Config config = new Config();
            config.useClusterServers().setNodeAddresses(addresses);
            return List.of(config);
        }
        return addresses.stream().map(address -> {
            Config config = new Config();
            config.useSingleServer().setAddress(address);
            return config;
        }).toList();
    }

    private RLock open(String name) {
        RedissonClient client = clients.get(0);
        return switch (protocol.word("kind")) {
            case "lock" -> client.getLock(name);
            case "fair" -> client.getFairLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            case "red" -> new RedissonRedLock(
                    clients.stream().map(each -> each.getLock(name)).toArray(RLock[]::new));
            default -> throw new IllegalArgumentException("no such kind");
        };
    }

    public static void main(String[] arguments) throws Exception {
        Bench bench = new Bench(new Protocol(arguments));
        switch (bench.protocol.word("mode")) {
            case "pair" -> bench.pair();
            case "throughput" -> bench.throughput();
            case "contend" -> bench.contend();
            case "hold" -> bench.hold();
            case "wake" -> bench.wake();
            case "watchdog" -> bench.watchdog();
            default -> throw new IllegalArgumentException("no such mode");
        }
        System.exit(0);
    }

    private void acquire(RLock lock) {
        lock.lock(leaseMillis, java.util.concurrent.TimeUnit.MILLISECONDS);
    }

    private List<Thread> start(int count, Body body) {
        List<Thread> threads = IntStream.range(0, count).mapToObj(worker -> new Thread(() -> {
            try {
                body.run(worker);
            } catch (Exception error) {
                error.printStackTrace();
                System.exit(1);
            }
        })).toList();
        threads.forEach(Thread::start);
        return threads;
    }

    private List<Long> pairFor(RLock lock, long nanos) {
        List<Long> samples = new ArrayList<>();
        long begin = now();
        for (long end = begin + nanos; begin < end; ) {
            acquire(lock);
            lock.unlock();
            long done = now();
            samples.add(done - begin);
            begin = done;
        }
        return samples;
    }

    private void pair() throws Exception {
        RLock lock = open(protocol.word("name"));
        protocol.ready();
        protocol.moment();
        pairFor(lock, protocol.nanos("warmup", 0));
        List<Long> samples = pairFor(lock, protocol.nanos("seconds", 1));
        protocol.result("{\"samples_ns\": " + json(samples) + "}");
    }

    private void throughput() throws Exception {
        long[] pairs = new long[protocol.whole("workers", 1)];
        protocol.ready();
        protocol.moment();
        long begin = now() + protocol.nanos("warmup", 0);
        long end = begin + protocol.nanos("seconds", 1);
        for (Thread thread : start(pairs.length, worker -> {
            RLock lock = open(protocol.ownName(worker));
            for (long at = now(); at < end; at = now()) {
                acquire(lock);
                lock.unlock();
                pairs[worker] += at >= begin ? 1 : 0;
            }
        })) {
            thread.join();
        }
        long total = 0;
        for (long count : pairs) {
            total += count;
        }
        protocol.result("{\"pairs\": " + total + ", \"seconds\": " + protocol.number("seconds", 1) + "}");
    }

    @SuppressWarnings("unchecked")
    private void contend() throws Exception {
        List<Long>[] grants = new List[protocol.whole("workers", 1)];
        int most = 2 * protocol.whole("grants", 0);
        long holdMicros = protocol.whole("hold_us", 0);
        long[] until = new long[1];
        CompletableFuture<Void> go = new CompletableFuture<>();
        List<Thread> threads = start(grants.length, worker -> {
            RLock lock = open(protocol.lockName(worker));
            List<Long> seen = grants[worker] = new ArrayList<>();
            go.join();
            while (now() < until[0] && (most == 0 || seen.size() < most)) {
                acquire(lock);
                seen.add(now());
                if (holdMicros > 0) {
                    Thread.sleep(holdMicros / 1000, (int) (holdMicros % 1000 * 1000));
                }
                seen.add(now());
                lock.unlock();
            }
        });
        protocol.ready();
        until[0] = protocol.moment();
        go.complete(null);
        for (Thread thread : threads) {
            thread.join();
        }
        protocol.result("{\"grants\": " + json(grants) + "}");
    }

    private void hold() throws Exception {
        List<RLock> held = new ArrayList<>();
        for (int worker = 0; worker < protocol.whole("locks", 1); worker++) {
            RLock lock = open(protocol.lockName(worker));
            acquire(lock);
            held.add(lock);
            Thread.sleep(protocol.whole("stagger_ms", 0));
        }
        protocol.ready();
        protocol.moment();
        long released = now();
        held.forEach(RLock::unlock);
        protocol.result("released_ns", released);
    }

    /** Rounds on a timetable: the holder takes the lock, the waiter asks, the holder releases. */
    private void wake() throws Exception {
        RLock lock = open(protocol.word("name"));
        long period = protocol.whole("period_us", 0) * 1000L;
        long ask = protocol.whole("ask_us", 0) * 1000L;
        double spread = protocol.number("spread_us", 0) * 1000;
        boolean waits = protocol.word("role").equals("waiter");
        List<Long> begun = new ArrayList<>();
        List<Long> done = new ArrayList<>();
        acquire(lock);
        lock.unlock();
        protocol.ready();
        long start = protocol.moment();
        for (int i = 0; i < protocol.whole("rounds", 1); i++) {
            long slot = start + i * period;
            sleepUntil(waits ? slot + ask : slot);
            if (waits) {
                begun.add(now());
            }
            acquire(lock);
            if (!waits) {
                begun.add(now());
                // The golden ratio spreads the releases evenly over the spread.
                sleepUntil(slot + 2 * ask + (long) (i * 0.618034 % 1 * spread));
            }
            done.add(now());
            lock.unlock();
        }
        protocol.result("{\"begun\": " + json(begun) + ", \"done\": " + json(done) + "}");
    }

    /** Takes many locks and holds them until the process is killed. */
    private void watchdog() throws Exception {
        RLock first = open(protocol.word("name") + ":first");
        acquire(first);
        first.unlock();
        protocol.ready();
        protocol.moment();
        int locks = protocol.whole("locks", 1);
        for (Thread thread : start(ACQUIRERS, worker -> {
            for (int i = worker; i < locks; i += ACQUIRERS) {
                acquire(open(protocol.ownName(i)));
            }
        })) {
            thread.join();
        }
        protocol.result("held", locks);
        protocol.moment();
    }
}
