// The timeline of the latest hand-overs that this page has seen.

import { arrange, clockText, element, lockHref, nameText, ownersText } from "./dom.js";

export class HandOversView {
  title = "Hand-overs";
  #store;
  #list;
  #empty;
  #rows = new WeakMap();

  constructor(store) {
    this.#store = store;
    this.#list = element("ol", { class: "list panel" });
    this.#empty = element("p", { class: "panel" }, "None seen yet. The page notes them from now on.");
    this.node = element("section", {},
      element("h1", {}, "Latest hand-overs"),
      element("p", { class: "quiet" }, "Seen since this page was opened, by looking once per second: "
        + "of several hand-overs within a second only the last shows."),
      this.#list, this.#empty);
  }

  update() {
    arrange(this.#list, this.#store.handOvers.map((handOver) => this.#row(handOver)));
    this.#list.hidden = this.#store.handOvers.length === 0;
    this.#empty.hidden = this.#store.handOvers.length > 0;
  }

  #row(handOver) {
    const { at, name, key, from, to } = handOver;
    if (!this.#rows.has(handOver)) {
      this.#rows.set(handOver, element("li", { class: "hand-over" },
        element("time", { class: "number quiet", datetime: at.toISOString() }, clockText(at)),
        element("a", { href: lockHref(key) }, nameText(name)),
        element("span", {}, side(from), element("span", { class: "arrow" }, "→"), side(to))));
    }
    return this.#rows.get(handOver);
  }
}

function side(owners) {
  return owners.length ? nameText(ownersText(owners), 80) : element("span", { class: "badge free" }, "free");
}
