package holdfast.peer;

import holdfast.peer.Operations.Lookup;
import java.util.List;
import java.util.function.Function;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Locks over several locks. Their name lists the members' names, one a line; the nth member lives
 * on the nth server of the peer, and on the first again where there are no more.
 */
final class Members {
  private final List<RedissonClient> servers;

  Members(List<RedissonClient> servers) {
    this.servers = servers;
  }

  /** All of the members. */
  Kind multi() {
    return kind(RedissonMultiLock::new);
  }

  /** More than half of the members. */
  @SuppressWarnings("deprecation") // Redisson advises against it, but has nothing else of the sort
  Kind red() {
    return kind(RedissonRedLock::new);
  }

  private Kind kind(Function<RLock[], RLock> make) {
    Lookup<RLock> lookup = name -> make.apply(find(name.split("\n")));
    return Locks.kind(servers.get(0), lookup);
  }

  private RLock[] find(String[] names) {
    RLock[] members = new RLock[names.length];
    for (int i = 0; i < names.length; i++) {
      members[i] = servers.get(i % servers.size()).getLock(names[i]);
    }
    return members;
  }
}
