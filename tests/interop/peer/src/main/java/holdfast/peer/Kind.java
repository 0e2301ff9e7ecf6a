package holdfast.peer;

/** A kind of shared object, such as the lock: what a request may ask of it. */
interface Kind {
  /**
   * Does what the request asks and returns the answer: null, a boolean, a number or a string. Runs
   * on the request's worker thread, so that what Redisson keeps for each thread is that worker's.
   */
  Object call(Request request) throws Exception;
}
