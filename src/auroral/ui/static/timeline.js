// What happened to each process: bars of conditions, marks for what happened, and the last of it in words.

import { byId, clock, html, svg } from "./dom.js";
import { sign } from "./signs.js";

const ROW = 27;
const BAR = 15;
const BOTTOM = 22;
const WORD = 7;
const LISTED = 40;

export class Timeline {
  constructor() {
    this.frame = byId("timeline");
    this.span = byId("span");
    this.lanes = svg("svg", { class: "lanes", role: "img", "aria-label": "conditions of processes over time" });
    this.list = html("ol", { class: "happened", tabindex: "0", "aria-label": "what happened, the newest first" });
    this.listed = "";
    this.span.addEventListener("change", () => this.live && this.update(this.live));
    new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      if (this.live) this.update(this.live);
    }).observe(this.frame);
  }

  update(live) {
    this.live = live;
    const rows = live.timeline ?? [];
    if (!rows.length || !this.width) return;
    if (!this.lanes.isConnected) this.frame.replaceChildren(this.lanes, this.list);
    this.draw(rows, live.now);
    this.write(rows);
  }

  draw(rows, now) {
    const left = Math.min(108, this.width * 0.26);
    const span = Number(this.span.value);
    const wide = this.width - left - 4;
    const x = (at) => left + Math.max(0, 1 - (now - at) / span) * wide;
    const high = rows.length * ROW + BOTTOM;
    const parts = [];
    const steps = this.width < 560 ? 2 : 4;
    for (let n = 0; n <= steps; n++) {
      const at = left + (n / steps) * wide;
      const ago = span * (1 - n / steps);
      parts.push(svg("line", { class: "tick", x1: at, x2: at, y1: 0, y2: high - BOTTOM + 3 }));
      parts.push(svg("text", { x: at, y: high - 5, "text-anchor": n === 0 ? "start" : n === steps ? "end" : "middle" }, ago ? `${ago >= 120 ? `${ago / 60} min` : `${ago} s`} ago` : "now"));
    }
    rows.forEach((row, n) => parts.push(...this.lane(row, n * ROW, left, x, now, span)));
    this.lanes.setAttribute("height", high);
    this.lanes.replaceChildren(...parts);
  }

  lane(row, y, left, x, now, span) {
    const most = Math.floor((left - 8) / WORD);
    const name = row.process.length > most ? `${row.process.slice(0, most - 1)}…` : row.process;
    const parts = [svg("text", { class: "who", x: 0, y: y + 18 }, name, svg("title", {}, `${row.process} (${row.is})`))];
    for (const [condition, begin, end] of row.bars) {
      if ((end ?? now) < now - span) continue;
      const from = x(begin);
      const wide = Math.max(2, x(end ?? now) - from);
      parts.push(svg("rect", { class: `bar ${condition}`, x: from, y: y + 6, width: wide, height: BAR, rx: 3 }, svg("title", {}, `${row.process}: ${condition} from ${clock(begin)}${end ? ` to ${clock(end)}` : " on"}`)));
      if (wide > 22) parts.push(sign(condition, { x: from + 5, y: y + 8.5, width: 10, height: 10 }));
      if (wide > 96) parts.push(svg("text", { class: "bar-word", x: from + 20, y: y + 17.5 }, condition));
    }
    for (const [at, what, alarm] of row.marks) {
      if (at < now - span) continue;
      const tone = alarm ? " alarm" : "";
      parts.push(svg("g", {}, svg("line", { class: `mark-line${tone}`, x1: x(at), x2: x(at), y1: y + 3, y2: y + 24 }), svg("circle", { class: `mark-head${tone}`, cx: x(at), cy: y + 3.5, r: 2.8 }), svg("title", {}, `${clock(at)} ${row.process}: ${what}`)));
    }
    return parts;
  }

  write(rows) {
    const all = rows.flatMap((row) => row.marks.map(([at, what, alarm]) => ({ at, what, alarm, process: row.process })));
    all.sort((a, b) => b.at - a.at);
    const shown = all.slice(0, LISTED);
    const signature = JSON.stringify(shown);
    if (signature === this.listed) return;
    this.listed = signature;
    this.list.replaceChildren(...shown.map((one) => html("li", { class: one.alarm ? "alarm" : null }, html("time", {}, clock(one.at)), html("b", {}, one.process), html("span", {}, one.what))));
  }
}
