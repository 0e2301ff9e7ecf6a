// Elements and texts. Everything that comes from the server becomes a text node, never markup.

// An element: `properties` are its attributes (class, href, …; `true` for one without a value, and
// false, null or undefined for none), functions become listeners of the event so named.
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child != null));
  return node;
}

// A name or id of the server, kept apart from the direction of the text around it.
export function nameText(name, most = 200) {
  const text = name.length > most ? `${name.slice(0, most)}…` : name;
  return element("bdi", { class: "name", title: text === name ? null : name.slice(0, 2000) }, text);
}

// Sets a node's text where it differs, so that a screen reader hears only what has changed.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Makes `nodes` the children of `parent` and moves only those that are not in their place: what has
// the focus keeps it.
export function arrange(parent, nodes) {
  const kept = new Set(nodes);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const node of nodes) {
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
}

// The address of a lock's page.
export const lockHref = (key) => `#/lock/${key}`;

// What people know a lock as: what is built on it, else its kind.
export const kindText = (lock) => (lock.use ?? lock.kind).replaceAll("_", " ");

export const clockText = (date) => date.toLocaleTimeString([], { hour12: false });

// Seconds as people read them.
export function secondsText(seconds, digits = 0) {
  if (seconds < 60) return `${seconds.toFixed(digits)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} days`;
}

// What is left of a lease that ends at `ends` (ms, as performance.now counts), null: no end.
export function leftText(ends, digits = 0) {
  if (ends === null) return "no limit";
  return secondsText(Math.max(0, (ends - performance.now()) / 1000), digits);
}

// The name of a connection of holdfast: the client's name, host:pid, and how the client's id begins.
const CONNECTION = /^(.+):([^:]*:\d+):[0-9a-f]{8}$/;

// The name that people know an owner by: its label, host and process of its program, with the client's
// name if it has one; else that of its connection, its address, or its id.
export function ownerText(owner) {
  const known = owner.label ? `${owner.label} on ${programText(owner)}` : programText(owner);
  return owner.slot == null ? known : `${known} (slot ${owner.slot})`;
}

function programText(owner) {
  const [, label, named] = CONNECTION.exec(owner.client?.name ?? "") ?? [];
  const process = owner.host && owner.pid ? `${owner.host}:${owner.pid}` : named;
  if (process) return label === undefined || label === "holdfast" ? process : `${process} ${label}`;
  return owner.client?.name || owner.client?.address || owner.id;
}

// What the hold is for, and that its owner may be dead: what a list says of it beside the owner.
export function purposeTexts(owner) {
  const texts = owner.purpose ? [`for ${owner.purpose}`] : [];
  if (owner.connection === "not connected") texts.push("not connected");
  return texts;
}

export function ownersText(owners) {
  if (owners.length === 0) return "none";
  const first = ownerText(owners[0]);
  return owners.length === 1 ? first : `${first} and ${owners.length - 1} more`;
}

// What the store knows about who holds a lock now, of any kind.
export const holdsOf = (lock) => lock.owners.reduce((sum, owner) => sum + owner.holds, 0);

// Since when the longest of its known holds lasts, in seconds since 1970; Infinity: not known.
export const beganAt = ({ owners }) => Math.min(...owners.map(({ since }) => since ?? Infinity));

// For how long it has been held, by the clock of this browser; empty: it is not known.
export function ageText(lock, digits = 0) {
  const began = beganAt(lock);
  if (began !== Infinity) return secondsText(Math.max(0, Date.now() / 1000 - began), digits);
  const young = lock.owners.length > 0 && lock.owners.every(({ within }) => within);
  return young ? `< ${Math.max(...lock.owners.map(({ within }) => within))} s` : "";
}
