// Changes of boxes, from where a box or a stream is opened: parameters, a new box on an arrow, a box that is taken out.

import { html } from "./dom.js";

export function boxEdits(found, controls) {
  if (!controls.on) return [];
  if (found.unwritable) return [html("h3", {}, "Change it"), html("p", { class: "note" }, `it cannot be changed here: ${found.unwritable}`)];
  if (!found.written) return [];
  const buttons = [opener("change parameters", () => changed(found, controls))];
  if (found.removable) buttons.push(opener("take it out", () => controls.ask(`Take ${found.name} out`, () => ({ do: "change", edit: { remove: found.name } }))));
  return [html("h3", {}, "Change it"), html("p", { class: "openers" }, ...buttons)];
}

export function streamEdits(found, controls) {
  if (!controls.on || !found.arrows?.length) return [];
  const buttons = found.arrows.map((arrow) => opener(`insert a box before ${arrow.box}`, () => inserted(found.name, arrow, controls)));
  return [html("h3", {}, "Change it"), html("p", { class: "openers" }, ...buttons)];
}

function changed(found, controls) {
  const rows = new Parameters(found.written);
  const edit = () => ({ modify: found.name, parameters: rows.values().filter((one) => !found.written.some((old) => old.name === one.name && old.value === one.value)) });
  controls.ask(`Parameters of ${found.name}`, () => ({ do: "change", edit: edit() }), rows.element);
}

function inserted(stream, arrow, controls) {
  const name = html("input", { required: true, autocomplete: "off", spellcheck: "false", "data-field": "name" });
  const known = controls.offered.new_boxes;
  const type = html("select", { "data-field": "type" }, ...Object.keys(known).map((one) => html("option", { value: one }, one)));
  const rows = new Parameters([]);
  const suggest = () => rows.suggest(known[type.value]);
  type.addEventListener("change", suggest);
  suggest();
  const edit = () => ({ insert: name.value.trim(), type: type.value, stream, before: arrow.box, parameters: rows.values() });
  controls.ask(`Insert a box between ${stream} and ${arrow.box}`, () => ({ do: "change", edit: edit() }), field("name", name), field("type", type), rows.element);
}

class Parameters {
  constructor(given) {
    this.rows = html("div", { class: "rows-of" });
    this.element = html("div", { class: "parameters" }, html("p", { class: "field" }, html("span", {}, "parameters, as in XML")), this.rows, opener("one more", () => this.add({ name: "", value: "" })));
    given.forEach((one) => this.add(one));
  }

  add(one) {
    const name = html("input", { value: one.name, placeholder: "name", "aria-label": "name of a parameter", readonly: one.fixed, autocomplete: "off", spellcheck: "false" });
    const value = html("input", { value: one.value, placeholder: "value", "aria-label": `value of ${one.name || "the parameter"}`, autocomplete: "off", spellcheck: "false" });
    this.rows.append(html("div", { class: "pair", "data-sql": one.sql }, name, value));
  }

  suggest(names) {
    this.rows.replaceChildren();
    for (const name of names) this.add({ name, value: "" });
  }

  values() {
    return [...this.rows.children].map((row) => ({ name: row.children[0].value.trim(), value: row.children[1].value, sql: row.dataset.sql ?? null })).filter((one) => one.name);
  }
}

function field(label, input) {
  return html("label", { class: "field" }, html("span", {}, label), input);
}

function opener(words, does) {
  return html("button", { type: "button", class: "plain", onclick: does }, words);
}
