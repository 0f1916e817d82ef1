// Elements of HTML and SVG. Text is always set as text: nothing that comes from rows or names is read as markup.

const SVG = "http://www.w3.org/2000/svg";

export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Writes only what is new: a page that is told the same twice a second must not be laid out anew each time.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function dress(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export const byId = (id) => document.getElementById(id);

// Of the day; in virtual time, which begins with 0, since then.
export function clock(seconds) {
  if (seconds < 1e8) return `${seconds.toFixed(1)} s`;
  return new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });
}

export function length(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 120 ? `${seconds.toFixed(1).replace(".0", "")} s` : `${Math.round(seconds / 60)} min`;
}

// Rows a second.
export function rate(rows) {
  if (rows === null || rows === undefined) return "";
  if (rows >= 10000) return `${Math.round(rows / 1000)}k/s`;
  return `${rows >= 10 || rows === 0 ? Math.round(rows) : rows.toFixed(1)}/s`;
}
