// The dialog of a forced release: the user types the lock's name.

import { element, nameText, setText } from "./dom.js";
import { fetchJson } from "./store.js";

// Asks, releases, and calls `done` when the dialog is closed after a release.
export function confirmRelease(name, key, done) {
  const input = element("input", { id: "typed-name", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const submit = element("button", { class: "danger", disabled: true }, "Force release");
  const outcome = element("p", { role: "status" });
  const cancel = element("button", { type: "button", click: () => dialog.close() }, "Cancel");
  const form = element("form", { method: "dialog", submit: release },
    element("h2", { id: "release-title" }, "Force release"),
    element("p", {}, "The owner loses ", nameText(name), " while it may still be working, and another may enter. ",
      "Make sure that the owner has stopped."),
    element("label", { for: "typed-name" }, "Type the name of the lock to confirm"), input, outcome,
    element("div", { class: "buttons" }, cancel, submit));
  const dialog = element("dialog", { "aria-labelledby": "release-title", close: () => dialog.remove() }, form);
  input.addEventListener("input", () => { submit.disabled = input.value !== name; });

  async function release(event) {
    event.preventDefault();
    if (input.value !== name) return;
    submit.disabled = true;
    const answer = await fetchJson(`/api/locks/${key}/force-release`, { method: "POST" });
    if (answer.ok && answer.body.released) {
      dialog.close();
      done();
      return;
    }
    setText(outcome, answer.ok ? "It was free already." : `Not released: ${answer.body.error}`);
    setText(cancel, "Close");
  }

  document.body.append(dialog);
  dialog.showModal();
  input.focus();
}
