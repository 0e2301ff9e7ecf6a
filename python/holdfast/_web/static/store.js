// The locks as the stream tells of them, and the hand-overs that were seen.
//
// A page has one stream, and only while it can be seen: a browser allows few connections to one
// host, and the inspector reads nothing while no stream is open.

const MOST_HAND_OVERS = 200;
const RETRY_MS = 2000;

// States of the stream: "connecting", "open", "unreachable" (the browser tries again), "refused"
// (this page tries again), "ended" (the address has a token of an earlier run).
export class Store extends EventTarget {
  locks = new Map();
  handOvers = [];
  stream = "connecting";
  settled = false;
  server = { up: true, error: null, since: null };
  // When what is shown was read last; null while it is current.
  staleSince = null;
  // When a scan began that takes longer than a second; null where scans are short.
  readAt = null;
  #source = null;
  #retry = null;
  #announced = false;
  #touched = new Set();

  // Opens the stream now and whenever the page is shown, closes it when the page is hidden or left.
  start() {
    const follow = () => (document.visibilityState === "visible" ? this.#open() : this.#close());
    document.addEventListener("visibilitychange", follow);
    window.addEventListener("pagehide", () => this.#close());
    window.addEventListener("pageshow", follow);
    follow();
  }

  #open() {
    if (this.#source || this.stream === "ended") return;
    const source = new EventSource("/api/events");
    this.#source = source;
    source.addEventListener("open", () => this.#opened());
    source.addEventListener("error", () => this.#failed(source));
    source.addEventListener("lock", (event) => this.#put(JSON.parse(event.data)));
    source.addEventListener("gone", (event) => this.#remove(JSON.parse(event.data).key));
    source.addEventListener("server", (event) => this.#serverChanged(JSON.parse(event.data)));
  }

  #close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  async #opened() {
    this.#touched = new Set();
    this.stream = "open";
    this.staleSince = null;
    this.readAt = null;
    this.server = { up: true, error: null, since: null };
    this.#changed();
    const source = this.#source;
    const listed = await fetchJson("/api/locks");
    if (source !== this.#source || source === null) return;
    if (listed.ok) this.#reconcile(listed.body);
    this.settled = true;
    this.#changed();
  }

  async #failed(source) {
    if (source !== this.#source) return;
    this.staleSince ??= new Date();
    if (source.readyState !== EventSource.CLOSED) {
      this.stream = "unreachable";
      this.#changed();
      return;
    }
    this.#close();
    const answer = await fetchJson("/api/server");
    this.stream = answer.status === 401 ? "ended" : "refused";
    this.#changed();
    if (this.stream === "refused") {
      this.#retry = setTimeout(() => document.visibilityState === "visible" && this.#open(), RETRY_MS);
    }
  }

  // Applies a whole list to what the stream has not touched since it was opened.
  #reconcile(locks) {
    const listed = new Set(locks.map((lock) => lock.key));
    for (const lock of locks) if (!this.#touched.has(lock.key)) this.#put(lock);
    for (const key of [...this.locks.keys()]) {
      if (!listed.has(key) && !this.#touched.has(key)) this.#remove(key);
    }
  }

  #put(lock) {
    const old = this.locks.get(lock.key);
    const now = performance.now();
    const same = old !== undefined && ids(old) === ids(lock);
    lock.ends = lock.ttl === null ? null : now + lock.ttl * 1000;
    lock.seenSince = same ? old.seenSince : new Date();
    lock.fresh = this.settled || old !== undefined;
    this.locks.set(lock.key, lock);
    this.#touched.add(lock.key);
    if (!same && (old !== undefined || this.settled)) this.#handedOver(lock, old?.owners ?? [], lock.owners);
    this.#changed();
  }

  #remove(key) {
    const old = this.locks.get(key);
    this.#touched.add(key);
    if (old === undefined) return;
    this.locks.delete(key);
    this.#handedOver(old, old.owners, []);
    this.#changed();
  }

  #handedOver(lock, from, to) {
    this.handOvers.unshift({ at: new Date(), name: lock.name, key: lock.key, from, to });
    this.handOvers.length = Math.min(this.handOvers.length, MOST_HAND_OVERS);
  }

  #serverChanged(status) {
    this.server = status;
    this.staleSince = status.up ? null : new Date(status.since * 1000);
    this.readAt = status.read_at === null ? null : new Date(status.read_at * 1000);
    this.#changed();
  }

  // One "change" for all that happens before the next frame.
  #changed() {
    if (this.#announced) return;
    this.#announced = true;
    requestAnimationFrame(() => {
      this.#announced = false;
      this.dispatchEvent(new Event("change"));
    });
  }
}

const ids = (lock) => lock.owners.map((owner) => `${owner.mode ?? ""} ${owner.id}`).sort().join("\n");

// The outcome of a request; `status` 0 where the inspector does not answer.
export async function fetchJson(path, options = {}) {
  try {
    const response = await fetch(path, options);
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const body = isJson ? await response.json() : { error: await response.text() };
    return { ok: response.ok, status: response.status, body };
  } catch {
    return { ok: false, status: 0, body: { error: "The inspector does not answer." } };
  }
}
