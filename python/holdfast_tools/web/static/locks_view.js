// The page of all locks: search, sort, a row for each.

import { ageText, arrange, beganAt, element, holdsOf, kindText, leftText, lockHref, nameText, ownersText, ownerText, purposeTexts, setText } from "./dom.js";

// Rows are drawn as far as they are on the screen, with some before and after it.
const ALL_DRAWN = 200;
const MARGIN_ROWS = 30;
const ROW_HEIGHT = 44;
// Lists that are longer are put in order again after this time only, while they change.
const SHORT_LIST = 2000;
const ORDER_MS = 1000;

const ORDERS = {
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  age: (a, b) => beganAt(a) - beganAt(b) || 0,
  left: (a, b) => (a.ends ?? Infinity) - (b.ends ?? Infinity) || 0,
  waiters: (a, b) => a.waiters - b.waiters,
};

// What the user chose stays while other pages are shown.
const chosen = { search: "", order: "name", descending: false };

export class LocksView {
  title = "Locks";
  #store;
  #rows = new Map();
  #found = [];  // keys, in their order
  #ordered = -Infinity;
  #later = null;
  #height = ROW_HEIGHT;
  #scrolled = null;

  constructor(store) {
    this.#store = store;
    this.#above = spacer();
    this.#below = spacer();
    const follow = () => { this.#scrolled ??= requestAnimationFrame(() => { this.#scrolled = null; this.#draw(); }); };
    window.addEventListener("scroll", follow, { passive: true });
    window.addEventListener("resize", follow);
    this.leave = () => {
      clearTimeout(this.#later);
      window.removeEventListener("scroll", follow);
      window.removeEventListener("resize", follow);
    };
    this.#count = element("p", { class: "count", "aria-live": "polite" });
    this.#search = element("input", {
      type: "search", id: "search", autocomplete: "off", spellcheck: "false",
      input: () => { chosen.search = this.#search.value; this.update("all"); },
    });
    this.#search.value = chosen.search;
    this.#heads = {
      name: this.#head("name", "Name"),
      age: this.#head("age", "Held for", "right wide"),
      left: this.#head("left", "Time left", "right"),
      waiters: this.#head("waiters", "Waiters", "right"),
    };
    this.#body = element("tbody");
    this.#table = element("table", { class: "table-locks", "aria-label": "Locks that are held" },
      element("thead", {}, element("tr", {},
        this.#heads.name,
        element("th", { scope: "col", class: "wide" }, "Kind"),
        element("th", { scope: "col", class: "wide" }, "Held by"),
        this.#heads.age, this.#heads.left, this.#heads.waiters)),
      this.#body);
    this.#empty = element("p");
    this.node = element("section", {},
      element("div", { class: "tools" },
        element("h1", {}, "Locks"), this.#count,
        element("div", { class: "search" },
          element("label", { for: "search" }, "Search"), this.#search)),
      element("div", { class: "frame" }, this.#table, this.#empty));
  }

  #count; #search; #heads; #body; #table; #empty; #above; #below;

  #head(order, text, side) {
    const sort = () => {
      chosen.descending = chosen.order === order && !chosen.descending;
      chosen.order = order;
      this.update("all");
    };
    return element("th", { scope: "col", class: side }, element("button", { type: "button", click: sort }, text));
  }

  // `rearranged`: as the store has it.
  update(rearranged = "some") {
    this.#order(rearranged);
    const found = this.#found.length;
    for (const [order, head] of Object.entries(this.#heads)) {
      if (order === chosen.order) head.setAttribute("aria-sort", chosen.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.#table.hidden = found === 0;
    this.#empty.hidden = found > 0;
    setText(this.#empty, this.#emptyText());
    setText(this.#count, this.#countText(found));
    this.#table.setAttribute("aria-rowcount", String(found + 1));
    this.#draw();
  }


  // A renewal changes neither the order by name nor what is found by no search. What changes the
  // order of a long list is looked at once per second: sorting takes longer than a frame.
  #order(rearranged) {
    if (rearranged === "" && chosen.order === "name" && chosen.search === "") return;
    const rest = this.#ordered + ORDER_MS - performance.now();
    if (rearranged !== "all" && this.#store.locks.size > SHORT_LIST && rest > 0) {
      this.#later ??= setTimeout(() => { this.#later = null; this.update(); }, rest);
      return;
    }
    this.#found = this.#matching();
    this.#ordered = performance.now();
  }

  // Draws the rows that are on the screen; two empty ones have the height of all others.
  #draw() {
    const [first, last] = this.#onScreen();
    const shown = this.#found.slice(first, last).map((key) => this.#store.locks.get(key)).filter(Boolean);
    const nodes = shown.map((lock, index) => {
      const { node } = this.#row(lock);
      node.setAttribute("aria-rowindex", String(first + index + 2));
      return node;
    });
    this.#above.firstChild.style.height = `${first * this.#height}px`;
    this.#below.firstChild.style.height = `${(this.#found.length - last) * this.#height}px`;
    if (first > 0) nodes.unshift(this.#above);
    if (last < this.#found.length) nodes.push(this.#below);
    arrange(this.#body, nodes);
    const keys = new Set(shown.map((lock) => lock.key));
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key);
    this.tick();
  }

  #onScreen() {
    const all = this.#found.length;
    if (all <= ALL_DRAWN) return [0, all];
    const drawn = [...this.#rows.values()].filter((row) => row.node.isConnected);
    const tall = drawn.reduce((sum, row) => sum + row.node.offsetHeight, 0);
    if (tall > 0) this.#height = tall / drawn.length;
    const top = Math.max(0, -this.#body.getBoundingClientRect().top);
    const most = Math.ceil(window.innerHeight / this.#height) + 2 * MARGIN_ROWS;
    const first = Math.max(0, Math.min(Math.floor(top / this.#height) - MARGIN_ROWS, all - most));
    return [first, Math.min(all, first + most)];
  }

  tick() {
    for (const { lock, left, ages } of this.#rows.values()) {
      setText(left, leftText(lock.ends));
      const age = ageText(lock);
      setText(ages[0], age);
      setText(ages[1], age && `, held for ${age}`);
    }
  }

  #matching() {
    const wanted = chosen.search.toLowerCase();
    const found = [...this.#store.locks.values()].filter((lock) => matches(lock, wanted));
    const by = ORDERS[chosen.order];
    const sign = chosen.descending ? -1 : 1;
    return found.sort((a, b) => sign * by(a, b) || ORDERS.name(a, b)).map((lock) => lock.key);
  }

  #countText(found) {
    const all = this.#store.locks.size;
    if (!this.#store.settled && all === 0) return "";
    const held = `${all} held`;
    return chosen.search !== "" && found < all ? `${found} of ${held}` : held;
  }

  #emptyText() {
    if (this.#store.locks.size > 0) return "No lock that is held matches the search.";
    return this.#store.settled ? "No lock is held now." : "Reading the locks…";
  }

  #row(lock) {
    const old = this.#rows.get(lock.key);
    if (old?.lock === lock) return old;
    const left = element("td", { class: "right number" });
    const ages = [element("td", { class: "right number wide" }), element("span")];
    const node = old?.node ?? element("tr", { animationend: (event) => event.currentTarget.classList.remove("changed") });
    const link = old?.link ?? element("a", { href: lockHref(lock.key) }, nameText(lock.name));
    const owners = ownersText(lock.owners);
    node.replaceChildren(
      element("td", {}, link,
        element("span", { class: "second narrow" }, [kindText(lock), owners, ...lock.owners.slice(0, 1).flatMap(purposeTexts)].join(", "), ages[1])),
      element("td", { class: "wide" }, element("span", { class: "badge" }, kindText(lock))),
      element("td", { class: "wide" }, nameText(owners, 80), ownerDetail(lock)),
      ages[0], left,
      element("td", { class: "right number" }, String(lock.waiters)));
    if (lock.fresh) node.classList.add("changed");
    const row = { lock, node, left, ages, link };
    this.#rows.set(lock.key, row);
    return row;
  }
}

function spacer() {
  return element("tr", { "aria-hidden": "true" }, element("td", { class: "spacer", colspan: "6" }));
}

function ownerDetail(lock) {
  const [owner] = lock.owners;
  if (owner === undefined) return null;
  const parts = purposeTexts(owner);
  if (lock.owners.length === 1 && ownerText(owner) !== owner.id) parts.push(owner.id);
  if (owner.mode) parts.push(owner.mode === "read" ? "reading" : "writing");
  if (holdsOf(lock) > lock.owners.length) parts.push(`${holdsOf(lock)} holds`);
  return parts.length ? element("span", { class: "second name" }, parts.join(", ")) : null;
}

function matches(lock, wanted) {
  const texts = lock.owners.flatMap((owner) => [ownerText(owner), owner.purpose ?? "", owner.id]);
  return wanted === "" || [lock.name, ...texts].some((text) => text.toLowerCase().includes(wanted));
}
