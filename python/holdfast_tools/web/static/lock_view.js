// The page of one lock: who holds it, who waits, how long, which keys; and its forced release.

import { ageText, element, holdsOf, kindText, leftText, nameText, ownerText, secondsText, setText } from "./dom.js";
import { confirmRelease } from "./release.js";
import { fetchJson } from "./store.js";

const REFRESH_MS = 5000;
const TIMES = new Set(["ttl", "timeout", "renewed"]);
const CONNECTIONS = { "connected": "connected", "not connected": "not connected", "unknown": "not known whether connected" };

export class LockView {
  #store;
  #key;
  #known;
  #detail = null;
  #forced = [];  // the latest forced releases, also of a lock that is free
  #problem = null;
  #loaded = false;
  #loading = false;
  #readOnly = true;
  #releasable = new Set();  // the kinds with owners
  #countdowns = [];
  #ages = [];  // nodes, and what makes the text of each
  #drawn = null;
  #read = 0;
  #timer;
  tickMs = 200;  // its times have tenths of seconds

  constructor(store, key) {
    this.#store = store;
    this.#key = key;
    this.#name = store.locks.get(key)?.name ?? decoded(key);
    this.title = this.#name;
    this.#state = element("span", { class: "badge" });
    this.#button = element("button", {
      type: "button", class: "danger", hidden: true,
      click: () => confirmRelease(this.#name, this.#key, () => this.#load()),
    }, "Force release…");
    this.#body = element("div");
    this.node = element("article", {},
      element("a", { class: "back", href: "#/" }, "← All locks"),
      element("div", { class: "lock-head" },
        element("h1", {}, nameText(this.#name)), this.#state, this.#button),
      this.#body);
    this.#timer = setInterval(() => document.visibilityState === "visible" && this.#load(), REFRESH_MS);
    fetchJson("/api/server").then((answer) => {
      this.#readOnly = answer.body.read_only !== false;
      this.#releasable = new Set(answer.body.releasable);
      this.#draw();
    });
    this.#load();
  }

  #name; #state; #button; #body;

  update() {
    if (this.#store.locks.get(this.#key) !== this.#known) this.#load();
  }

  tick() {
    if (this.#detail === null) return;
    for (const [node, seconds] of this.#countdowns) {
      const left = seconds(this.#detail);
      setText(node, leftText(left == null ? null : this.#read + left * 1000, 1));
    }
    for (const [node, text] of this.#ages) setText(node, text(this.#detail));
  }

  leave() {
    clearInterval(this.#timer);
  }

  async #load() {
    if (this.#loading) return;
    this.#loading = true;
    this.#known = this.#store.locks.get(this.#key);
    const answer = await fetchJson(`/api/locks/${this.#key}`);
    this.#loading = false;
    if (answer.ok || answer.status === 404) {
      this.#detail = answer.ok ? answer.body : null;
      this.#forced = answer.body.forced ?? [];
    }
    this.#problem = answer.ok || answer.status === 404 ? null : answer.body.error;
    this.#loaded = true;
    this.#read = performance.now();
    this.#draw();
    this.update();
  }

  #draw() {
    if (!this.#loaded) return;
    const lock = this.#detail;
    this.#button.hidden = this.#readOnly || lock === null || !this.#releasable.has(lock.kind);
    // While only times change, the elements stay, and with them what the user has selected.
    const drawn = JSON.stringify([lock, this.#forced, this.#problem], (key, value) => (TIMES.has(key) ? value === null : value));
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#countdowns = [];
    this.#ages = [];
    setText(this.#state, lock === null ? "free" : "held");
    this.#state.classList.toggle("free", lock === null);
    this.#body.replaceChildren(...this.#parts(lock));
    this.tick();
  }

  #parts(lock) {
    const problem = this.#problem === null ? []
      : [element("p", { class: "panel", role: "status" }, `These figures are not current: ${this.#problem}`)];
    if (lock === null) {
      return [...problem, element("p", { class: "panel" }, "This lock is free now. The page follows when it is acquired."),
        ...forcedReleases(this.#forced)];
    }
    return [
      ...problem,
      element("section", { class: "panel" }, this.#facts(lock)),
      this.#owners(lock),
      this.#queue(lock),
      ...unnamed(lock),
      ...forcedReleases(this.#forced),
      element("div", { class: "columns" },
        names("Keys", lock.keys, "None."), names("Channels", lock.channels, "None.")),
    ];
  }

  #facts(lock) {
    const left = this.#countdown((current) => current.ttl);
    const seen = this.#store.locks.get(this.#key)?.seenSince;
    const uncertain = lock.certain === false;
    const facts = [
      ["Time left", element("span", { class: "large number" }, left)],
      ["Kind", uncertain ? "semaphore or latch" : kindText(lock)],
      ["Holds", String(holdsOf(lock))],
      ["Waiters", String(lock.waiters)],
      uncertain ? ["Number", lock.permits] : ["Permits", permitsText(lock)], ["Count", lock.count], ["Fencing token", lock.token],
      ["Value", lock.value === undefined ? null : nameText(lock.value)],
      ["Parties", lock.parties && `${lock.owners.length} of ${lock.parties} are there${lock.broken ? ", broken" : ""}`],
      ["Held for", ageText(lock) ? this.#held() : null],
      ["Owner seen since", seen?.toLocaleTimeString([], { hour12: false })],
    ];
    return element("dl", { class: "facts" }, facts.filter(([, value]) => value != null).map(([term, value]) =>
      element("div", {}, element("dt", {}, term), element("dd", {}, typeof value === "object" && !value.nodeType ? JSON.stringify(value) : typeof value === "number" ? String(value) : value))));
  }

  #owners(lock) {
    const rows = lock.owners.map((owner, index) => element("li", {},
      nameText(ownerText(owner)), element("span", { class: "quiet" }, ownerFacts(owner)),
      this.#life(owner, ({ owners }) => owners[index], lock.owners.length === 1),
      ownerText(owner) === owner.id ? null : element("div", { class: "small quiet" }, nameText(owner.id))));
    if (lock.truncated) rows.push(element("li", { class: "quiet" }, "There is more than is shown."));
    return section(lock.owners.length === 1 ? "Owner" : `Owners (${lock.owners.length})`, rows, "ul", "No owner is known.");
  }

  #queue(lock) {
    if (!lock.queue) return section("Queue", [], "ol", lock.waiters ? `${lock.waiters} wait; this kind keeps no order.` : "No waiters.");
    const rows = lock.queue.map((waiter, index) => element("li", {},
      element("span", { class: "quiet number" }, `${index + 1}. `), nameText(ownerText(waiter)),
      element("span", { class: "quiet" }, ", its place is kept for "),
      element("span", { class: "number" }, this.#countdown((current) => current.queue[index].timeout)),
      element("span", { class: "quiet" }, saidFacts(waiter)),
      this.#life(waiter, ({ queue }) => queue[index], false),
      ownerText(waiter) === waiter.id ? null : element("div", { class: "small quiet" }, nameText(waiter.id))));
    return section(`Queue (${rows.length})`, rows, "ol", "No waiters.");
  }

  // Whether an owner or a waiter is alive; `find` finds it in the latest figures.
  #life(one, find, alone) {
    if (one.holds !== undefined && !one.id.includes(":") && one.slot == null && !one.client) return null;  // a permit, of any client
    const parts = [CONNECTIONS[one.connection]];
    if (one.renewed != null) parts.push(", last renewed ", this.#age((current) => find(current).renewed + this.#passed()), " ago");
    if (alone) parts.push(", its lease ends in ", this.#countdown((current) => current.ttl));
    return element("div", { class: "small" }, parts);
  }

  #passed() {
    return (performance.now() - this.#read) / 1000;
  }

  #held() {
    return this.#follow((current) => ageText(current, 1));
  }

  // A node that shows the seconds that `seconds` finds in the latest figures.
  #age(seconds) {
    return this.#follow((current) => secondsText(Math.max(0, seconds(current)), 1));
  }

  // A node that shows the text that `text` makes of the latest figures.
  #follow(text) {
    const node = element("span", { class: "number" });
    this.#ages.push([node, text]);
    return node;
  }

  // A node that counts down the seconds that `seconds` finds in the latest figures.
  #countdown(seconds) {
    const node = element("span");
    this.#countdowns.push([node, seconds]);
    return node;
  }
}

// Who has released it by force, and whose hold that ended; nothing if there was no such release.
function forcedReleases(forced) {
  if (forced.length === 0) return [];
  const rows = forced.map(({ at, user, client, owners }) => element("li", {},
    element("time", { class: "number quiet", datetime: new Date(at * 1000).toISOString() }, new Date(at * 1000).toLocaleString()),
    " by user ", nameText(user, 80),
    client ? [", connection ", nameText([client.name, client.address].filter(Boolean).join(" "))] : null,
    element("div", { class: "small quiet" }, "held until then by ", nameText(owners.join(", ")))));
  return [section("Forced releases", rows, "ul", "")];
}

// The free ones, and all where the permits in use are known.
function permitsText({ kind, permits, owners }) {
  if (permits === undefined) return null;
  return kind === "permit_semaphore" ? `${permits} free of ${permits + owners.length}` : `${permits} free`;
}

function ownerFacts(owner) {
  const facts = [];
  if (owner.mode) facts.push(owner.mode === "read" ? "reads" : "writes");
  facts.push(owner.holds === 1 ? "1 hold" : `${owner.holds} holds`);
  if (owner.client?.address && owner.client.name) facts.push(owner.client.address);
  if (owner.client?.library) facts.push(owner.client.library);
  return `, ${facts.join(", ")}${saidFacts(owner)}`;
}

// What a hold is for, or a wait, and since when it lasts.
function saidFacts({ purpose, since, within }) {
  const facts = [];
  if (purpose) facts.push(`for ${purpose}`);
  if (since) facts.push(`since ${new Date(since * 1000).toLocaleString()}`);
  else if (within) facts.push(`for less than ${within} s`);
  return facts.map((fact) => `, ${fact}`).join("");
}

// The connections among which that of an owner is, whose client the server cannot tell.
function unnamed({ unnamed: clients = [] }) {
  if (clients.length === 0) return [];
  const rows = clients.map((client) => element("li", {}, nameText([client.address, client.name, client.library].filter(Boolean).join(" "))));
  return [section("Connections that may be an owner's", rows, "ul", "")];
}

function section(title, rows, list, none) {
  return element("section", { class: "panel" }, element("h2", {}, title),
    rows.length ? element(list, { class: "list" }, rows) : element("p", { class: "quiet" }, none));
}

function names(title, values, none) {
  return section(title, (values ?? []).map((value) => element("li", {}, nameText(value))), "ul", none);
}

function decoded(key) {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
