// The frame of the page: exchanges the token, shows the view that the address names, keeps the
// line about the connection.

import { clockText, secondsText, setText } from "./dom.js";
import { HandOversView } from "./hand_overs_view.js";
import { LockView } from "./lock_view.js";
import { LocksView } from "./locks_view.js";
import { ServerView } from "./server_view.js";
import { Store } from "./store.js";

// Seconds from which on the age of what is shown is shown, too.
const OLD_S = 3;
// How often times are drawn that are shown in whole seconds.
const TICK_MS = 1000;

const main = document.getElementById("main");
const state = document.getElementById("state");
const notice = document.getElementById("notice");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const store = new Store();
let view = null;

function makeView(address) {
  if (address.startsWith("#/lock/")) return ["locks", new LockView(store, address.slice("#/lock/".length))];
  if (address === "#/hand-overs") return ["hand-overs", new HandOversView(store)];
  if (address === "#/server") return ["server", new ServerView(store)];
  return ["locks", new LocksView(store)];
}

function show() {
  if (location.hash === "#main") {
    main.focus();
    history.replaceState(null, "", view?.address ?? "#/");
    return;
  }
  const first = view === null;
  view?.made.leave?.();
  const [page, made] = makeView(location.hash);
  view = { made, address: location.hash || "#/" };
  main.replaceChildren(made.node);
  document.title = `${made.title} · holdfast`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  made.update();
  if (!first) main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function drawState() {
  const [level, text, more] = describe();
  state.dataset.level = level;
  setText(state, text);
  setText(notice, more);
  notice.hidden = more === "";
}

function describe() {
  const seen = store.settled && store.staleSince ? ` What is shown is from ${clockText(store.staleSince)}.` : "";
  if (store.stream === "ended") {
    return ["bad", "No access", "The address of this page is from an earlier run: open the one that holdfast inspect printed last."];
  }
  if (store.stream === "unreachable") return ["bad", "Inspector away", `The inspector does not answer; trying again.${seen}`];
  if (store.stream === "refused") return ["bad", "Not connected", "The inspector has no room for another page; trying again."];
  if (store.stream === "connecting") return ["wait", "Connecting", ""];
  if (!store.server.up) return ["bad", "Server away", `The server is away: ${store.server.error}${seen} The page recovers by itself.`];
  const age = store.readAt ? (Date.now() - store.readAt) / 1000 : 0;
  if (age >= OLD_S) return ["good", `Live, read ${secondsText(age)} ago`, ""];
  return ["good", "Live", ""];
}

function start() {
  window.addEventListener("hashchange", show);
  store.addEventListener("change", (event) => {
    drawState();
    view.made.update(event.detail);
  });
  show();
  store.start();
  const tick = () => {
    view.made.tick?.();
    drawState();
    setTimeout(tick, reducedMotion.matches ? TICK_MS : view.made.tickMs ?? TICK_MS);
  };
  tick();
}

// The answer to the address with the token has set the cookie. Loading the page anew, from this
// page, removes the token from the address bar and from the history.
if (new URLSearchParams(location.search).has("token")) location.replace(location.pathname + location.hash);
else start();
