// Boxes, streams and queries where the server has placed them; afterwards only what changed is touched.

import { byId, dress, html, rate, svg } from "./dom.js";
import { sign } from "./signs.js";

const SMALLEST = 0.3;
const LARGEST = 1.6;
const READABLE = 0.62;
const ROLES = { input: "input", output: "output", between: "stream" };
const INSTEAD = new Set(["silent", "failed", "blocked"]); // of which the rate tells less than the reason

export class Diagram {
  constructor(open) {
    this.open = open;
    this.frame = byId("diagram");
    this.chosen = null; // the scale, where somebody chose one
    byId("smaller").addEventListener("click", () => this.zoom(this.scale / 1.2));
    byId("larger").addEventListener("click", () => this.zoom(this.scale * 1.2));
    byId("fit").addEventListener("click", () => this.zoom(null));
    new ResizeObserver(() => this.sheet && this.resize()).observe(this.frame);
  }

  draw(picture) {
    this.picture = picture;
    this.flows = new Map();
    this.groups = new Map();
    this.lines = [];
    this.opened = null;
    const layer = svg("svg", { width: picture.width, height: picture.height, "aria-hidden": "true" });
    layer.append(
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6.5, markerHeight: 6.5, orient: "auto", markerUnits: "userSpaceOnUse" }, svg("path", { d: "M0 .5 8 4 0 7.5z" }))),
    );
    this.sheet = html("div", { class: "sheet" });
    for (const group of picture.groups) this.group(group);
    for (const line of picture.lines) {
      const path = svg("path", { d: line.d, class: "line unknown", "marker-end": line.arrow ? "url(#arrow)" : null });
      layer.append(path);
      this.lines.push({ path, ...line });
    }
    this.sheet.append(layer);
    const several = new Map(picture.groups.map((group) => [group.name, group.queries.length > 1]));
    for (const thing of inReadingOrder(picture)) {
      if (thing.role) this.flow(thing);
      else this.box(thing, several.get(thing.group));
    }
    place(this.sheet, { x: 0, y: 0, w: picture.width, h: picture.height });
    this.room = html("div", { class: "room" }, this.sheet);
    this.frame.replaceChildren(this.room);
    this.resize();
  }

  group(group) {
    const replicas = html("ul", { class: "replicas", "aria-label": "replicas" });
    const element = html("div", { class: "group", role: "group", "aria-label": `query ${group.queries.join(", ")}` }, html("h3", {}, group.queries.join(", ")), replicas);
    place(element, group);
    this.sheet.append(element);
    this.groups.set(group.name, { replicas, signature: "" });
  }

  box(box, naming) {
    const words = [box.type, box.summary].filter(Boolean).join(" · ");
    const element = this.thing("box", "box", box, html("b", {}, box.name), html("span", {}, naming ? `${box.query}: ${words}` : words));
    element.title = `${box.name} · ${words}`;
  }

  flow(stream) {
    const state = html("span", { class: "state" });
    const element = this.thing("flow unknown", "stream", stream, html("b", {}, stream.name), state);
    this.flows.set(stream.name, { element, state, role: stream.role, signature: "" });
  }

  thing(kind, what, at, ...children) {
    const element = html("button", { type: "button", class: kind, "aria-expanded": "false", "data-name": at.name }, ...children);
    element.addEventListener("click", () => this.open(what, at.name, element));
    place(element, at);
    this.sheet.append(element);
    return element;
  }

  update(live) {
    if (!this.sheet) return;
    for (const [name, flow] of this.flows) {
      const found = live.streams?.[name];
      if (!found) continue;
      const going = found.rate === null ? "" : rate(found.rate);
      // It is made, and does not arrive everywhere.
      const away = found.away.length ? `not at ${found.away.join(", ")}` : "";
      const shown = [found.condition, away || (INSTEAD.has(found.condition) ? found.words : going || found.words)].filter(Boolean).join(" · ");
      const signature = `${shown} ${found.words} ${going}`;
      if (flow.signature === signature) continue;
      flow.signature = signature;
      dress(flow.element, "class", `flow ${found.condition}`);
      const whole = [`${ROLES[flow.role]} ${name}: ${found.condition}`, found.words, away, going && `${going.replace("/s", "")} rows a second`].filter(Boolean).join(", ");
      flow.element.setAttribute("aria-label", whole);
      flow.element.title = whole;
      flow.state.replaceChildren(sign(found.condition), html("span", {}, shown));
    }
    for (const [name, group] of this.groups) {
      const found = live.groups?.[name];
      if (!found) continue;
      const signature = JSON.stringify(found.replicas);
      if (group.signature === signature) continue;
      group.signature = signature;
      group.replicas.replaceChildren(
        ...found.replicas.map((one) => html("li", { class: one.condition, title: told(one), "data-node": one.node }, sign(one.condition), html("span", {}, `${one.node}`), html("span", { class: "word" }, one.condition === "failed" ? one.words.split(":")[0] : one.words === "recovering" ? "recovering" : ""))),
      );
    }
    for (const line of this.lines) {
      const group = live.groups?.[line.into ?? line.group];
      const condition = group?.arrives[line.stream] ?? live.streams?.[line.stream]?.condition ?? group?.condition ?? "unknown";
      dress(line.path, "class", `line ${condition}${line.group ? " inner" : ""}`);
    }
  }

  mark(element) {
    this.opened?.setAttribute("aria-expanded", "false");
    this.opened = element;
    element?.setAttribute("aria-expanded", "true");
  }

  zoom(scale) {
    this.chosen = scale && Math.min(LARGEST, Math.max(SMALLEST, scale));
    if (this.sheet) this.resize();
  }

  resize() {
    const free = this.frame.clientWidth;
    const fits = free / this.picture.width;
    // What would be too small to read is scrolled, unless somebody asked for less.
    this.scale = this.chosen ?? Math.min(1, Math.max(fits, READABLE));
    this.sheet.style.transform = `scale(${this.scale})`;
    this.room.style.width = `${Math.ceil(this.picture.width * this.scale)}px`;
    this.room.style.height = `${Math.ceil(this.picture.height * this.scale)}px`;
  }
}

function told(replica) {
  const reads = Object.entries(replica.reads).map(([stream, chosen]) => `reads ${stream} from ${Object.keys(chosen).map((core) => core.split("@").pop()).join(" and ")}`);
  return [`${replica.node}: ${replica.condition}`, replica.words, ...reads].filter(Boolean).join("\n");
}

// From left to right, as data flows: so the tab key goes.
function inReadingOrder(picture) {
  return [...picture.boxes, ...picture.streams].sort((a, b) => a.x - b.x || a.y - b.y);
}

function place(element, at) {
  element.style.left = `${at.x}px`;
  element.style.top = `${at.y}px`;
  element.style.width = `${at.w}px`;
  element.style.height = `${at.h}px`;
}
