// What an operator can do to processes, links and queries. Nothing is kept of the token but in this page, until it is closed.

import { Asking } from "./asking.js";
import { byId, html, say } from "./dom.js";
import { command } from "./live.js";
import { sign } from "./signs.js";

export class Controls {
  constructor() {
    this.frame = byId("controls");
    this.body = byId("controls-body");
    this.token = null;
    this.drawn = "";
    this.asking = new Asking();
    byId("enter").addEventListener("submit", (event) => {
      event.preventDefault();
      this.enter(byId("operator-token").value.trim());
    });
  }

  get on() {
    return !this.frame.hidden;
  }

  async enter(token) {
    const wrong = byId("enter-wrong");
    wrong.hidden = true;
    try {
      await command("enter", {}, token);
    } catch (error) {
      say(wrong, error.message);
      wrong.hidden = false;
      return;
    }
    this.token = token;
    byId("operator-token").value = "";
    byId("enter").hidden = true;
    this.drawn = "";
    this.update(this.offered);
    this.body.querySelector("button")?.focus();
  }

  // Asks for the token first, where it was not given yet.
  ask(title, request, ...fields) {
    if (this.token !== null) return this.asking.open(title, this.token, request, ...fields);
    this.frame.scrollIntoView({ block: "center" });
    byId("operator-token").focus();
  }

  update(offered) {
    this.offered = offered;
    this.frame.hidden = !offered;
    if (!offered) return;
    const drawn = JSON.stringify([offered, this.token !== null]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    say(byId("controls-note"), this.token === null ? "locked: this page can look, and do nothing" : "every one says what will happen before it does; boxes are changed where they are opened");
    if (this.token === null) return this.body.replaceChildren();
    const place = this.buttons.indexOf(document.activeElement);
    const had = place < 0 ? null : document.activeElement.dataset.does;
    const parts = [part("Processes", offered.processes.map((one) => this.process(one))), part("Links", offered.links.map((one) => this.link(one)))];
    if (offered.under_way.length) parts.unshift(part("Under way", offered.under_way.map((one) => this.underWay(one))));
    this.body.replaceChildren(...parts);
    // What is drawn anew must not take the focus away from who goes by keyboard; what was cut can be healed in its place.
    if (had) (this.buttons.find((one) => one.dataset.does === had) ?? this.buttons[place])?.focus();
  }

  get buttons() {
    return [...this.body.querySelectorAll("button")];
  }

  process(one) {
    const buttons = [];
    if (one.is === "source" && one.up) buttons.push(one.silent ? this.button("resume", one.name, { do: "resume", source: one.name }) : this.button("pause", one.name, { do: "pause", source: one.name }));
    if (one.is === "node") for (const query of this.offered.queries) if (query.nodes.includes(one.name)) buttons.push(this.mover(query, one.name));
    if (one.up && !one.program) buttons.push(this.button("kill", one.name, { do: "kill", process: one.name }));
    const condition = !one.up ? "failed" : one.silent ? "silent" : "stable";
    return line(condition, one.name, one.up ? (one.silent ? "silent" : one.is) : `${one.is}, down`, buttons);
  }

  link(one) {
    const does = one.cut ? "heal" : "cut";
    const between = `${one.one} → ${one.other}`;
    return line(one.cut ? "failed" : "stable", between, one.cut ? "cut" : "", [this.button(does, between, { do: does, one: one.one, other: one.other })]);
  }

  underWay(one) {
    return line("stabilising", one.words, "", [this.button("give up", `${one.what} of ${one.query}`, { do: "give up", what: one.what, query: one.query })]);
  }

  mover(query, node) {
    const title = `Move ${query.name} from ${node}`;
    return button("move", title, () => {
      const others = this.offered.nodes.filter((name) => !query.nodes.includes(name));
      const to = html("input", { id: "to-node", list: "nodes", required: true, autocomplete: "off", spellcheck: "false" });
      const list = html("datalist", { id: "nodes" }, ...others.map((name) => html("option", { value: name })));
      const label = html("label", { class: "field" }, html("span", {}, others.length ? `to a node that is there (${others.join(", ")}), or a new name` : "to a new node, by its name"), to, list);
      this.ask(title, () => ({ do: "move", query: query.name, node: to.value.trim(), from: node }), label);
    });
  }

  button(word, name, asked) {
    const title = `${word[0].toUpperCase()}${word.slice(1)} ${name}`;
    return button(word, title, () => this.ask(title, () => asked));
  }
}

function part(title, lines) {
  return html("div", { class: "part" }, html("h3", {}, title), html("ul", {}, ...lines));
}

function line(condition, name, words, buttons) {
  return html("li", { class: condition }, sign(condition), html("b", {}, name), html("span", { class: "word" }, words), html("span", { class: "does" }, ...buttons));
}

function button(word, title, does) {
  return html("button", { type: "button", class: "plain small", "aria-label": title, title, "data-does": title, onclick: does }, word);
}
