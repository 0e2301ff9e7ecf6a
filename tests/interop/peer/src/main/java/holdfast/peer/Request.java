package holdfast.peer;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/** One line of input: {"id", "thread", "kind", "op", "name"} and the arguments of the operation. */
record Request(JsonObject json) {
  /** Throws com.google.gson.JsonSyntaxException or IllegalStateException for other than an object. */
  static Request parse(String line) {
    return new Request(JsonParser.parseString(line).getAsJsonObject());
  }

  long id() {
    return number("id");
  }

  String thread() {
    return text("thread");
  }

  String kind() {
    return text("kind");
  }

  String op() {
    return text("op");
  }

  /** The shared object's name on the server. */
  String name() {
    return text("name");
  }

  boolean has(String field) {
    return json.has(field);
  }

  long number(String field) {
    return required(field).getAsLong();
  }

  String text(String field) {
    return required(field).getAsString();
  }

  private JsonElement required(String field) {
    if (!json.has(field)) {
      throw new IllegalArgumentException("the request has no \"" + field + "\": " + json);
    }
    return json.get(field);
  }
}
