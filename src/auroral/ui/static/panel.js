// Details of a box or a stream, asked for when it is opened, and again while it stays open.

import { byId, clock, html, rate } from "./dom.js";
import { boxEdits, streamEdits } from "./editing.js";
import { ask } from "./live.js";
import { sign } from "./signs.js";

const AGAIN = 2000;
const FOCUSED = "button, [tabindex]";

export class Panel {
  constructor(marked, controls) {
    this.marked = marked;
    this.controls = controls;
    this.frame = byId("panel");
    this.title = byId("panel-title");
    this.body = byId("panel-body");
    this.turn = 0;
    byId("close").addEventListener("click", () => this.close());
    document.addEventListener("keydown", (event) => {
      // A dialog in front of it is closed first.
      if (event.key === "Escape" && !this.frame.hidden && !document.querySelector("dialog[open]")) this.close();
    });
  }

  open(what, name, from) {
    if (this.from === from && !this.frame.hidden) return this.close();
    this.what = what;
    this.name = name;
    this.from = from;
    this.marked(from);
    this.title.replaceChildren(name, html("small", {}, what));
    this.body.replaceChildren(html("p", { class: "empty" }, "asking"));
    this.shown = "";
    this.frame.hidden = false;
    document.body.classList.add("with-panel");
    from.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.body.scrollTop = 0;
    byId("close").focus();
    this.refresh();
  }

  close() {
    this.turn++;
    this.frame.hidden = true;
    document.body.classList.remove("with-panel");
    this.marked(null);
    this.from?.focus();
    this.from = null;
  }

  // A picture that is drawn anew has other elements.
  drawnAnew(find) {
    if (this.frame.hidden) return;
    this.from = find(this.name);
    if (this.from) this.marked(this.from);
    else this.close();
  }

  async refresh() {
    const turn = ++this.turn;
    let parts;
    try {
      // Of a recording, as it was then.
      const then = this.live?.now ? { at: this.live.now } : {};
      const found = await ask(`/api/${this.what}`, { name: this.name, ...then });
      parts = this.what === "box" ? [...boxParts(found), ...boxEdits(found, this.controls)] : this.streamParts(found);
    } catch (error) {
      parts = [html("pre", { class: "story" }, error.message)];
    }
    if (turn !== this.turn) return;
    const text = parts.map((part) => part.outerHTML).join("");
    if (text !== this.shown) {
      this.shown = text;
      const at = this.body.scrollTop;
      const focused = [...this.body.querySelectorAll(FOCUSED)].indexOf(document.activeElement);
      this.body.replaceChildren(...parts);
      this.body.scrollTop = at;
      // What is drawn anew must not take the focus away from who goes by keyboard.
      if (focused >= 0) this.body.querySelectorAll(FOCUSED)[focused]?.focus({ preventScroll: true });
    }
    setTimeout(() => turn === this.turn && this.refresh(), AGAIN);
  }

  streamParts(found) {
    const live = this.live?.streams?.[this.name];
    const facts = found.fields ? [["fields", found.fields]] : [];
    if (live) {
      facts.unshift(["condition", [live.condition, live.words].filter(Boolean).join(", ")]);
      if (live.away.length) facts.push(["does not reach", live.away.join(", ")]);
      if (live.rate !== null && live.rate !== undefined) facts.push(["rows", rate(live.rate)]);
      if (live.frontier !== null) facts.push(["stable", `before bucket ${live.frontier}${this.live.first === null ? "" : `, ${clock((this.live.first + live.frontier) * this.live.bucket)}`}`]);
    }
    const parts = [html("h3", {}, "How it is"), list(facts), html("h3", {}, "Why")];
    const stories = Object.entries(found.why);
    if (!stories.length) parts.push(html("p", { class: "note" }, found.recorded ? "this is told while a deployment runs; what happened to its processes is in the timeline" : "nobody who runs tells of it"));
    for (const [process, story] of stories) parts.push(html("h4", {}, process), html("pre", { class: "story" }, story));
    parts.push(html("h3", {}, "Last rows"));
    if (found.trouble) parts.push(html("pre", { class: "story" }, found.trouble));
    else if (found.recorded) parts.push(html("p", { class: "note" }, "no rows are recorded; what was stable is in the folder's outputs"));
    else if (!found.output) parts.push(html("p", { class: "note" }, "only outputs are given to the client, which tells of their rows"));
    else if (!found.rows.length) parts.push(html("p", { class: "note" }, "none among the last buckets"));
    else parts.push(rowsTable(found.rows));
    parts.push(...streamEdits(found, this.controls));
    return parts;
  }
}

function boxParts(found) {
  const parts = [html("h3", {}, "Parameters"), found.parameters.length ? list(found.parameters) : html("p", { class: "note" }, "it has none")];
  parts.push(html("h3", {}, "What it is"), list(found.facts));
  parts.push(html("h3", {}, "Gives"), list(found.outputs.map((one) => [one.stream, one.fields || "no fields: control"])));
  parts.push(html("h3", {}, "Counts"), found.counts.length ? list(found.counts) : html("p", { class: "note" }, "none of its nodes tells of it"));
  parts.push(html("h3", {}, "Spark SQL of small jobs"), html("pre", { tabindex: "0" }, found.sql.trim() || "it is not SQL"));
  return parts;
}

function list(facts) {
  return html("dl", {}, ...facts.flatMap(([name, text]) => [html("dt", {}, name), html("dd", {}, text)]));
}

function rowsTable(rows) {
  const names = Object.keys(rows[0].row);
  const head = html("tr", {}, html("th", {}, "bucket"), html("th", {}, "is"), ...names.map((name) => html("th", {}, name)));
  const conditions = { stable: "stable", confirmed: "stable", corrected: "stabilising", tentative: "tentative", missed: "failed" };
  const lines = rows.map((one) =>
    html("tr", {}, html("td", {}, String(one.bucket)), html("td", {}, html("span", { class: "state" }, sign(conditions[one.kind]), one.kind)), ...names.map((name) => html("td", {}, shown(one.row[name])))),
  );
  return html("div", { class: "rows", tabindex: "0" }, html("table", {}, html("thead", {}, head), html("tbody", {}, ...lines)));
}

function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
