// Search in pages that are opened as files: browsers refuse `new Worker` there, so the search's
// worker runs in a hidden frame instead. The name is the one by which the plugin `offline` knows
// that such a script is there, and adds none from another host.
"use strict";

class FrameWorker extends EventTarget {
  #waiting = [];
  #window = null;

  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = frame.contentWindow;
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    inside.importScripts = (...urls) => Promise.all(urls.map((each) => load(inside, each)));
    load(inside, url).then(() => {
      this.#window = inside;
      this.#waiting.forEach((data) => this.postMessage(data));
    });
  }

  postMessage(data) {
    if (this.#window === null) {
      this.#waiting.push(data);
    } else {
      this.#window.dispatchEvent(new MessageEvent("message", { data }));
    }
  }
}

function load(inside, url) {
  return new Promise((resolve, reject) => {
    const script = inside.document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = reject;
    inside.document.body.append(script);
  });
}

if (location.protocol === "file:") {
  window.Worker = FrameWorker;
}
