package holdfast.peer;

import java.util.HashMap;
import java.util.Map;

/** The operations of a kind by name, each working on a T looked up by the request's object name. */
final class Operations<T> implements Kind {
  /** One operation on a shared object. */
  interface Operation<T> {
    Object apply(T object, Request request) throws Exception;
  }

  /** Finds the shared object of a name; called once for each name on each worker thread. */
  interface Lookup<T> {
    T find(String name);
  }

  private final ThreadLocal<Map<String, T>> objects = ThreadLocal.withInitial(HashMap::new);
  private final Lookup<T> lookup;
  private final Map<String, Operation<T>> operations;

  Operations(Lookup<T> lookup, Map<String, Operation<T>> operations) {
    this.lookup = lookup;
    this.operations = operations;
  }

  @Override
  public Object call(Request request) throws Exception {
    Operation<T> operation = operations.get(request.op());
    if (operation == null) {
      throw new IllegalArgumentException(
          "no operation \"" + request.op() + "\" of " + request.kind() + ": " + operations.keySet());
    }
    return operation.apply(objects.get().computeIfAbsent(request.name(), lookup::find), request);
  }
}
