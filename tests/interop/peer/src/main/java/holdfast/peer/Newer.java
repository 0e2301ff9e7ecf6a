package holdfast.peer;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls what not every release has, hence by reflection. */
final class Newer {
  private Newer() {}

  /** The method of that type, for calls with these kinds of argument. */
  static Method method(String type, String name, Class<?>... parameters) throws Exception {
    return Class.forName(type).getMethod(name, parameters);
  }

  /** What the method returns; throws what it throws. */
  static Object invoke(Method method, Object on, Object... arguments) throws Exception {
    try {
      return method.invoke(on, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }
}
