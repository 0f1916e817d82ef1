// A dialog that says what will happen before it does. What has fields is checked first; only what was checked as it stands can be done.

import { byId, html, say } from "./dom.js";
import { command } from "./live.js";

export class Asking {
  constructor() {
    this.dialog = byId("ask");
    this.fields = byId("ask-fields");
    this.answer = byId("ask-answer");
    this.check = byId("ask-check");
    this.doIt = byId("ask-do");
    this.cancel = byId("ask-cancel");
    this.turn = 0;
    byId("ask-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.check.hidden) this.foretell();
    });
    byId("ask-form").addEventListener("input", () => this.unchecked());
    this.doIt.addEventListener("click", () => this.act());
    // A key that is still held down from before has confirmed nothing.
    this.doIt.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
    this.cancel.addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => {
      this.turn++;
      this.back();
    });
  }

  // `request` gives what is asked, from the fields as they are then.
  open(title, token, request, ...fields) {
    this.token = token;
    this.request = request;
    say(byId("ask-title"), title);
    this.fields.replaceChildren(...fields);
    this.check.hidden = !fields.length;
    this.check.disabled = false;
    this.doIt.hidden = false;
    say(this.cancel, "cancel");
    this.unchecked();
    this.from = document.activeElement;
    this.around = this.from?.closest("#controls-body, #panel-body");
    this.place = this.around ? [...this.around.querySelectorAll("button")].indexOf(this.from) : -1;
    this.dialog.showModal();
    if (fields.length) this.fields.querySelector("input, select")?.focus();
    else this.foretell();
  }

  // To the button that it was opened with, also where that was drawn anew meanwhile.
  back() {
    if (this.from && !this.from.isConnected) this.around?.querySelectorAll("button")[this.place]?.focus();
  }

  unchecked() {
    this.turn++;
    this.asked = null;
    this.doIt.disabled = true;
    this.answer.replaceChildren();
  }

  async foretell() {
    this.unchecked();
    const turn = this.turn;
    const asked = this.request();
    this.answer.replaceChildren(html("p", { class: "note" }, "asking what will happen"));
    try {
      const found = await command("foretell", asked, this.token);
      if (turn !== this.turn) return;
      // What was shown is what is done.
      this.asked = found.update ? { do: "change", update: found.update } : asked;
      this.answer.replaceChildren(html("ul", { class: "will" }, ...found.words.map((words) => html("li", {}, words))));
      if (found.update) this.answer.append(html("details", {}, html("summary", {}, "as an update file for auroral change"), html("pre", { tabindex: "0" }, found.update)));
      this.doIt.disabled = false;
      this.doIt.focus();
    } catch (error) {
      if (turn === this.turn) this.wrong(error);
    }
  }

  async act() {
    const turn = this.turn;
    const title = byId("ask-title").textContent;
    this.doIt.disabled = true;
    this.check.disabled = true;
    this.answer.append(html("p", { class: "note" }, "doing it"));
    try {
      const found = await command("act", this.asked, this.token);
      if (turn !== this.turn) return;
      this.answer.replaceChildren(html("p", { class: "done" }, found.done));
      this.fields.replaceChildren();
    } catch (error) {
      if (turn === this.turn) this.wrong(error);
      else this.late(title, error);
      return;
    } finally {
      this.check.disabled = false;
    }
    this.check.hidden = true;
    this.doIt.hidden = true;
    say(this.cancel, "close");
    this.cancel.focus();
  }

  // Whoever did not wait for the answer hears of it all the same.
  late(title, error) {
    if (!this.dialog.open) {
      this.unchecked();
      say(byId("ask-title"), title);
      this.fields.replaceChildren();
      this.check.hidden = true;
      this.doIt.hidden = true;
      say(this.cancel, "close");
      this.dialog.showModal();
    }
    this.answer.append(html("pre", { class: "story wrong", role: "alert" }, `${title}: ${error.message}`));
  }

  wrong(error) {
    this.answer.replaceChildren(html("pre", { class: "story wrong", role: "alert" }, error.message));
  }
}
