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
  #rearranged = "";
  #touched = null;  // what the stream has sent before the whole list was there

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
    const source = new EventSource("/api/events?brief");
    this.#source = source;
    source.addEventListener("open", () => this.#opened());
    source.addEventListener("error", () => this.#failed(source));
    source.addEventListener("lock", (event) => this.#put(JSON.parse(event.data)));
    source.addEventListener("gone", (event) => this.#remove(JSON.parse(event.data).key));
    source.addEventListener("leases", (event) => this.#leases(JSON.parse(event.data)));
    source.addEventListener("ready", () => this.#ready());
    source.addEventListener("server", (event) => this.#serverChanged(JSON.parse(event.data)));
  }

  #close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  #opened() {
    this.#touched = new Set();
    this.stream = "open";
    this.staleSince = null;
    this.readAt = null;
    this.server = { up: true, error: null, since: null };
    this.#changed();
  }

  // The stream has sent every lock that is held: what is known from before and was not sent is gone.
  #ready() {
    const sent = this.#touched ?? new Set();
    this.#touched = null;
    for (const key of [...this.locks.keys()]) if (!sent.has(key)) this.#remove(key);
    this.settled = true;
    this.#rearranged = "all";
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

  #put(lock) {
    const old = this.locks.get(lock.key);
    const now = performance.now();
    const same = old !== undefined && sameOwners(old, lock);
    if (old === undefined) this.#rearranged ||= "some";
    lock.ends = lock.ttl === null ? null : now + lock.ttl * 1000;
    lock.seenSince = same ? old.seenSince : new Date();
    lock.fresh = this.settled || old !== undefined;
    this.locks.set(lock.key, lock);
    this.#touched?.add(lock.key);
    if (!same && (old !== undefined || this.settled)) this.#handedOver(lock, old?.owners ?? [], lock.owners);
    this.#changed();
  }

  // Leases that have moved, by keys; of their locks nothing else has changed.
  #leases(left) {
    const now = performance.now();
    for (const [key, ttl] of Object.entries(left)) {
      const old = this.locks.get(key);
      if (old === undefined) continue;
      this.locks.set(key, { ...old, ttl, ends: ttl === null ? null : now + ttl * 1000, fresh: false });
    }
    this.#changed();
  }

  #remove(key) {
    const old = this.locks.get(key);
    this.#touched?.add(key);
    if (old === undefined) return;
    this.#rearranged ||= "some";
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

  // One "change" for all that happens before the next frame; its `detail`: whether
  // locks came or went: "", "some", or "all" where the list is whole now.
  #changed() {
    if (this.#announced) return;
    this.#announced = true;
    requestAnimationFrame(() => {
      this.#announced = false;
      const detail = this.#rearranged;
      this.#rearranged = "";
      this.dispatchEvent(new CustomEvent("change", { detail }));
    });
  }
}

function sameOwners(one, other) {
  if (one.owners.length !== other.owners.length) return false;
  if (one.owners.length !== 1) return ids(one) === ids(other);
  const [a, b] = [one.owners[0], other.owners[0]];
  return a.id === b.id && a.mode === b.mode;
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
