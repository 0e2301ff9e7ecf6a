package holdfast.peer;

import org.redisson.api.RedissonClient;

/** Questions to the peer itself, none of which reaches the server. */
final class Self implements Kind {
  private final RedissonClient client;

  Self(RedissonClient client) {
    this.client = client;
  }

  @Override
  public Object call(Request request) {
    return switch (request.op()) {
      case "clock" -> System.nanoTime();
      case "owner" -> client.getId() + ":" + Thread.currentThread().getId();
      default -> throw new IllegalArgumentException("no operation \"" + request.op() + "\"");
    };
  }
}
