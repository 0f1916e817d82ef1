// One strip for each output: a square for each bucket, under it how late each result was, and what a tentative one was computed from.

import { byId, clock, dress, html, length, say, svg } from "./dom.js";
import { sign } from "./signs.js";

const STEP = 13; // from one square to the next
const SIDE = 10;
const LEFT = 54;
const RIGHT = 8;
const SQUARES = 12; // where the row of squares is
const DELAYS = 34; // where delays begin, and how high they are
const HIGH = 46;
const COVER = 92;
const SEGMENT = 4;
const MOST_COVER = 8;
const MOST = 600; // squares that are remembered, as the server does

const KINDS = {
  stable: "stable",
  tentative: "tentative",
  confirmed: "was tentative, confirmed",
  corrected: "was tentative, corrected",
  awaited: "not there yet",
  missed: "lost in a gap",
};

const MARKS = { undo: "M8.4 -3H2M4.2 -5.2 2 -3l2.2 2.2", rec_done: "M2 -3.2l2 2 3.8 -4" }; // above a square

function inside(kind) {
  switch (kind) {
    case "tentative": return svg("path", { class: "inside", d: "M5 2.4 8 7.8H2z" });
    case "confirmed": return svg("path", { class: "inside", d: "M2.6 5.2 4.4 7 7.6 3.2" });
    case "corrected": return svg("path", { class: "inside", d: "M2.6 3.6h4.8M2.6 6.4h4.8" });
    case "missed": return svg("path", { class: "inside", d: "M2.8 2.8l4.4 4.4M7.2 2.8 2.8 7.2" });
    default: return null;
  }
}

function square(kind, one) {
  const group = svg("g", { class: `square ${kind}${one && one.n === 0 && kind !== "missed" ? " empty" : ""}`, "data-bucket": one?.b });
  group.append(svg("rect", { class: "face", x: 0.5, y: 0.5, width: SIDE - 1, height: SIDE - 1, rx: 1.6 }));
  const inner = inside(kind);
  if (inner) group.append(inner);
  // Where one square is the first and the last that was replaced, its marks stand side by side.
  const beside = one?.undo && one.rec_done ? "translate(8 0)" : null;
  for (const mark of Object.keys(MARKS)) if (one?.[mark]) group.append(svg("path", { class: "tick", d: MARKS[mark], transform: mark === "rec_done" ? beside : null }));
  return group;
}

export function squaresLegend(list) {
  for (const [kind, words] of Object.entries(KINDS)) {
    list.append(html("li", {}, svg("svg", { width: SIDE, height: SIDE, viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" }, square(kind, null)), words));
  }
  list.append(html("li", {}, svg("svg", { width: SIDE, height: SIDE, "aria-hidden": "true" }, square("stable", { n: 0 })), "without rows"));
  for (const [mark, words] of Object.entries({ undo: "undo", rec_done: "rec_done: all corrected" })) {
    list.append(html("li", {}, svg("svg", { width: SIDE, height: 8, viewBox: "0 -6 10 8", "aria-hidden": "true" }, svg("path", { class: "tick-mark", d: MARKS[mark] })), words));
  }
}

class Strip {
  constructor(name) {
    this.name = name;
    this.squares = new Map();
    this.newest = -1;
    this.cursor = null;
    this.state = html("span", { class: "state" });
    this.facts = html("span");
    this.readout = html("p", { class: "readout", "aria-live": "polite" });
    this.layer = svg("svg", { class: "strip", height: COVER, tabindex: "0", role: "img", "data-stream": name });
    this.element = html("div", { class: "output", "data-output": name }, html("div", { class: "title" }, html("b", {}, name), this.state, this.facts), this.layer, this.readout);
    this.layer.addEventListener("pointermove", (event) => this.point(this.at(event)));
    this.layer.addEventListener("pointerleave", () => this.point(null));
    this.layer.addEventListener("blur", () => this.point(null));
    this.layer.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(([entry]) => this.fit(entry.contentRect.width)).observe(this.layer);
  }

  add(squares) {
    for (const one of squares) {
      this.squares.set(one.b, one);
      this.newest = Math.max(this.newest, one.b);
    }
    // Here, since a page that nobody looks at is not drawn, and may be open for days.
    for (const bucket of this.squares.keys()) if (bucket <= this.newest - MOST) this.squares.delete(bucket);
    this.changed = true;
  }

  forget() {
    this.squares.clear();
    this.newest = -1;
    this.changed = true;
  }

  fit(width) {
    const columns = Math.max(8, Math.floor((width - LEFT - RIGHT) / STEP));
    if (columns === this.columns) return;
    this.columns = columns;
    this.changed = true;
    this.draw();
  }

  update(output, live) {
    this.output = output;
    this.first = live.first;
    this.bucket = live.bucket;
    const facts = [
      output.bound ? `X = ${length(output.bound)}` : "no bound",
      output.delay_new > 0 ? `at most ${length(output.delay_new)} later than usual` : "never later than usual",
      Object.keys(output.reads).length ? `read from ${Object.entries(output.reads).map(chosen).join(" and ")}` : "",
    ];
    say(this.facts, facts.filter(Boolean).join(" · "));
    const condition = output.condition;
    if (this.condition !== condition) {
      this.condition = condition;
      dress(this.state, "class", `state ${condition}`);
      this.state.replaceChildren(sign(condition), html("span", {}, condition));
    }
    const scale = `${output.bound} ${output.usual.toFixed(2)}`;
    if (scale !== this.scale) this.changed = true;
    this.scale = scale;
    this.draw();
  }

  draw() {
    if (!this.changed || !this.columns || !this.output) return;
    this.changed = false;
    const end = this.newest + 1;
    const begin = Math.max(end - this.columns, this.squares.size ? Math.min(...this.squares.keys()) : 0);
    this.begin = begin;
    const row = svg("g", { transform: `translate(${LEFT} ${SQUARES})` });
    const delays = svg("g");
    const cover = svg("g", { class: "cover" });
    const bound = this.output.bound;
    const shown = [...this.squares.values()].filter((one) => one.b >= begin && one.late !== undefined).map((one) => one.late - this.output.usual);
    const top = Math.max(bound ? bound * 1.25 : 0, ...shown, 0.5);
    const counts = {};
    let covered = false;
    for (let bucket = begin; bucket < end; bucket++) {
      const one = this.squares.get(bucket);
      const kind = one?.k ?? "awaited";
      counts[kind] = (counts[kind] ?? 0) + 1;
      const x = (bucket - begin) * STEP;
      const found = square(kind, one);
      found.setAttribute("transform", `translate(${x} 0)`);
      row.append(found);
      if (one?.late !== undefined) {
        const late = Math.max(0, one.late - this.output.usual);
        const high = Math.max(1.5, (late / top) * HIGH);
        const tentative = one.k !== "stable";
        delays.append(svg("rect", { class: `late${tentative ? " tentative" : ""}${bound && late > bound ? " over" : ""}`, x: LEFT + x + 2, y: DELAYS + HIGH - high, width: SIDE - 4, height: high, rx: 1 }));
      }
      if (one?.cover) covered = bars(cover, one.cover, LEFT + x) || covered;
    }
    const right = LEFT + this.columns * STEP;
    const parts = [row, svg("line", { class: "rule", x1: LEFT, x2: right, y1: DELAYS + HIGH + 0.5, y2: DELAYS + HIGH + 0.5 }), delays, label("delay", DELAYS + HIGH), label(length(top), DELAYS + 9)];
    if (bound) {
      const y = Math.round(DELAYS + HIGH - (bound / top) * HIGH) + 0.5;
      parts.push(svg("line", { class: "bound", x1: LEFT, x2: right, y1: y, y2: y }));
      parts[4] = svg("text", { class: "bound-word", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, `X ${length(bound)}`);
    }
    if (covered) parts.push(label("inputs", COVER + 12), cover);
    const sources = covered ? Math.min(MOST_COVER, this.output.sources.length) : 0;
    this.layer.setAttribute("height", covered ? COVER + sources * (SEGMENT + 1) + 8 : COVER - 6);
    this.layer.replaceChildren(...parts);
    dress(this.layer, "aria-label", `${this.name}: the last ${end - begin} buckets, ${Object.entries(counts).map(([kind, count]) => `${count} ${KINDS[kind]}`).join(", ")}. Arrow keys tell of each.`);
    this.point(this.cursor);
  }

  at(event) {
    const bucket = this.begin + Math.floor((event.clientX - this.layer.getBoundingClientRect().left - LEFT) / STEP);
    return bucket >= this.begin && bucket <= this.newest ? bucket : null;
  }

  key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const from = this.cursor ?? (moves[event.key] > 0 ? this.begin - 1 : this.newest + 1);
    this.point(Math.max(this.begin, Math.min(this.newest, from + moves[event.key])));
  }

  point(bucket) {
    this.cursor = bucket;
    this.layer.querySelector(".cursor")?.remove();
    if (bucket === null || bucket < this.begin) {
      say(this.readout, "");
      return;
    }
    this.layer.append(svg("rect", { class: "cursor", x: LEFT + (bucket - this.begin) * STEP - 1.5, y: SQUARES - 1.5, width: SIDE + 3, height: SIDE + 3, rx: 3 }));
    say(this.readout, this.words(bucket));
  }

  words(bucket) {
    const one = this.squares.get(bucket);
    const when = this.first === null ? "" : `, ${clock((this.first + bucket) * this.bucket)}`;
    if (!one) return `bucket ${bucket}${when}: not there yet`;
    const said = [`bucket ${bucket}${when}: ${KINDS[one.k]}`, `${one.n} row${one.n === 1 ? "" : "s"}`];
    if (one.late !== undefined) {
      const late = one.late - this.output.usual;
      said.push(late > 0.05 ? `first came ${length(late)} later than usual` : "first came when it usually does");
    }
    const lacking = Object.entries(one.cover ?? {}).filter(([, level]) => level !== "complete").map(([source, level]) => `${source} ${level}`);
    if (lacking.length) said.push(`computed with ${lacking.join(", ")}`);
    return said.join(" · ");
  }
}

function chosen([core, lane]) {
  const node = core.split("@").pop();
  return { fresh: `${node} (new)`, correct: `${node} (corrections)` }[lane] ?? node;
}

function label(text, y) {
  return svg("text", { x: LEFT - 8, y, "text-anchor": "end" }, text);
}

// A segment for each source: there, in part, or missing. Of many, as many as there is room for in proportion.
function bars(layer, levels, x) {
  const found = Object.values(levels);
  if (found.every((level) => level === "complete")) return false;
  const order = ["complete", "partial", "missing"];
  found.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const shown = found.length <= MOST_COVER ? found : Array.from({ length: MOST_COVER }, (_, n) => found[Math.floor((n * found.length) / MOST_COVER)]);
  shown.forEach((level, n) => {
    const half = level === "missing" ? 0.5 : 0;
    layer.append(svg("rect", { class: level, x: x + half, y: COVER + 4 + n * (SEGMENT + 1) + half, width: SIDE - 2 * half, height: SEGMENT - 2 * half }));
  });
  return true;
}

export class Strips {
  constructor() {
    this.frame = byId("strips");
    this.strips = new Map();
  }

  add(squares) {
    for (const [name, found] of Object.entries(squares)) this.strip(name).add(found);
  }

  // What comes next is all that there is.
  forget() {
    for (const strip of this.strips.values()) strip.forget();
  }

  // What comes from now on is of another deployment, or does not follow what was there.
  clear() {
    this.strips.clear();
    this.frame.replaceChildren(html("p", { class: "empty" }, "nothing was delivered yet"));
  }

  strip(name) {
    if (!this.strips.has(name)) {
      if (!this.strips.size) this.frame.replaceChildren();
      const strip = new Strip(name);
      this.strips.set(name, strip);
      this.frame.append(strip.element);
    }
    return this.strips.get(name);
  }

  update(live) {
    for (const [name, output] of Object.entries(live.outputs ?? {})) this.strip(name).update(output, live);
  }
}
