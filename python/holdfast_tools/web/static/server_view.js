// The state of the server, and of the inspector's reading.

import { clockText, element, nameText, secondsText } from "./dom.js";
import { fetchJson } from "./store.js";

const REFRESH_MS = 2000;

const LABELS = {
  version: "Version", uptime: "Up for", connections: "Connections", memory: "Memory", eviction: "Eviction policy",
};

export class ServerView {
  title = "Server";
  #store;
  #timer;
  #body;

  constructor(store) {
    this.#store = store;
    this.#body = element("div");
    this.node = element("section", {}, element("h1", {}, "Server"), this.#body,
      element("p", { class: "quiet" }, "Is it fit for locks? ", element("code", {}, "holdfast doctor"),
        " checks version, rights, eviction, persistence, replicas and clocks."));
    this.#timer = setInterval(() => document.visibilityState === "visible" && this.#load(), REFRESH_MS);
    this.#load();
  }

  update() {}

  leave() {
    clearInterval(this.#timer);
  }

  async #load() {
    const answer = await fetchJson("/api/server");
    if (!answer.ok) return;
    const { server, status, primaries, read_only: readOnly } = answer.body;
    const facts = [["Address", server]];
    if (status) facts.push(...statusFacts(status));
    facts.push(["This page", readOnly ? "reads only" : "may release by force"]);
    this.#body.replaceChildren(panel(null, facts), ...primaries.map(({ address, ...figures }) =>
      panel(address, Object.entries(figures).map(([key, value]) => [LABELS[key] ?? key, figure(key, value)]))));
  }
}

function statusFacts(status) {
  const badge = element("span", { class: `badge ${status.up ? "free" : "away"}` }, status.up ? "answers" : "away");
  const facts = [["State", badge], ["Since", clockText(new Date(status.since * 1000))]];
  if (status.error) facts.push(["Error", status.error]);
  facts.push(["Locks held", String(status.locks)]);
  if (status.scan_seconds != null) facts.push(["Reading them takes", secondsText(status.scan_seconds, 2)]);
  return facts;
}

const figure = (key, value) => (key === "uptime" ? secondsText(Number(value)) : value);

function panel(title, facts) {
  return element("section", { class: "panel" }, title && element("h2", {}, nameText(title)),
    element("dl", { class: "facts" }, facts.map(([term, value]) =>
      element("div", {}, element("dt", {}, term), element("dd", {}, value)))));
}
