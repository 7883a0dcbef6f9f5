// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// A page that is opened as a file may start no worker: browsers refuse. The search runs in one, so it
// gets a frame in its place, of the same origin as the page. The theme asks for this file by its name
// (mkdocs.yml, polyfills) and would otherwise take one of the same task from another host.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const address = new URL(url, document.baseURI);
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script");
          script.src = new URL(source, address);
          script.onload = resolve;
          script.onerror = reject;
          inside.document.body.append(script);
        });
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...sources) => {
        for (const one of sources) await load(one);
      };
      this.ready = load(address);
      this.ready.catch(() => this.dispatchEvent(new Event("error")));
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
