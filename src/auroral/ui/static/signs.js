// The mark of each condition: a shape of its own, so that colour is never all that tells them apart.

import { html, svg } from "./dom.js";

export const CONDITIONS = {
  stable: "stable",
  tentative: "tentative: something is missing",
  stabilising: "stabilising: being corrected",
  blocked: "blocked: cannot go on",
  silent: "silent",
  failed: "failed",
};

const SHAPES = {
  stable: () => [svg("circle", { cx: 6, cy: 6, r: 4.5, class: "solid" })],
  tentative: () => [svg("path", { d: "M6 1.4 11 10.6H1z" })],
  stabilising: () => [svg("path", { d: "M10.3 7.2A4.5 4.5 0 1 1 9.4 3M9.6.8V3.3H7.1" })],
  blocked: () => [svg("rect", { x: 1.4, y: 1.4, width: 9.2, height: 9.2, rx: 1 }), svg("path", { d: "M4 6h4" })],
  silent: () => [svg("path", { d: "M4 2.2v7.6M8 2.2v7.6" })],
  failed: () => [svg("path", { d: "M2.2 2.2l7.6 7.6M9.8 2.2 2.2 9.8" })],
  unknown: () => [svg("circle", { cx: 6, cy: 6, r: 4.3, "stroke-dasharray": "2 2" })],
};

export function sign(condition, attributes = {}) {
  const shape = SHAPES[condition] ?? SHAPES.unknown;
  return svg("svg", { class: `sign ${condition}`, viewBox: "0 0 12 12", "aria-hidden": "true", ...attributes }, ...shape());
}

export function legend(list) {
  for (const [condition, words] of Object.entries(CONDITIONS)) {
    list.append(html("li", { class: condition }, sign(condition), words));
  }
}
