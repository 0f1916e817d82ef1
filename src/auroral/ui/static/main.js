// Puts the parts of the page together.

import { Controls } from "./controls.js";
import { byId, html, say } from "./dom.js";
import { Diagram } from "./diagram.js";
import { ask, follow } from "./live.js";
import { Panel } from "./panel.js";
import { Replay } from "./replay.js";
import { legend, sign } from "./signs.js";
import { Strips, squaresLegend } from "./strips.js";
import { Timeline } from "./timeline.js";

const live = { bucket: 1, first: null };
let drawn = null;
let drawing = false;

const controls = new Controls();
const panel = new Panel((element) => diagram.mark(element), controls);
const diagram = new Diagram((what, name, element) => panel.open(what, name, element));
const strips = new Strips();
const timeline = new Timeline();
legend(byId("legend"));
squaresLegend(byId("squares-legend"));

let replay = null;
begin();

async function begin() {
  let mode;
  try {
    mode = await ask("/api/mode");
  } catch {
    linked(false);
    setTimeout(begin, 1000);
    return;
  }
  if (mode.replay) replay = new Replay(mode.replay, told, linked);
  else follow(told, linked);
}

function told(news) {
  // What is not said any more does not hold any more.
  live.trouble = undefined;
  if (live.squares_of && news.squares_of && news.squares_of !== live.squares_of) strips.clear();
  Object.assign(live, news);
  panel.live = live;
  // Of a recording, each moment has all of them.
  if (replay) strips.forget();
  if (news.squares) strips.add(news.squares);
  if (live.picture && live.picture !== drawn) draw();
  if (document.hidden) return;
  show();
}

document.addEventListener("visibilitychange", () => !document.hidden && live.now && show());

function show() {
  diagram.update(live);
  strips.update(live);
  timeline.update(live);
  controls.update(live.controls);
  ledger(live.ledger ?? []);
  banner();
  summary();
  say(byId("folder"), live.folder ?? "");
  byId("folder").title = live.folder ?? "";
}

async function draw() {
  if (drawing) return;
  drawing = true;
  try {
    const picture = await ask("/api/picture");
    drawn = picture.id;
    live.bucket = picture.bucket;
    document.title = `${picture.name} · Auroral`;
    say(byId("name"), picture.name);
    diagram.draw(picture);
    panel.drawnAnew((name) => [...diagram.sheet.querySelectorAll("[data-name]")].find((one) => one.dataset.name === name));
    show();
  } catch (error) {
    live.trouble = error.message;
    banner();
  } finally {
    drawing = false;
  }
}

function linked(there, word = "live") {
  const link = byId("link");
  link.className = `link ${there ? "live" : "away"}`;
  say(byId("link-words"), there ? word : "connection lost, trying again");
}

function banner() {
  const element = byId("banner");
  let text = live.trouble ?? "";
  if (replay && !text && live.down?.length) text = `Down at this time: ${live.down.join(", ")}`;
  else if (!text && live.running === false) text = `This deployment does not run. Start it with: auroral up --folder ${live.folder}\nThe page goes on by itself when it does.`;
  else if (!text && live.first === null) text = "This deployment has not begun yet.";
  else if (!text && live.down?.length) text = `Down: ${live.down.join(", ")}. What is not running is started by: auroral up --folder ${live.folder}`;
  say(element, text);
  element.hidden = !text;
}

const WORST = ["failed", "blocked", "tentative", "stabilising", "silent", "unknown", "stable"];
let summed = "";

function summary() {
  const outputs = Object.values(live.outputs ?? {}).map((output) => output.condition);
  if (!outputs.length) return;
  const counts = WORST.filter((one) => outputs.includes(one)).map((one) => [one, outputs.filter((other) => other === one).length]);
  const text = live.running ? (counts.length === 1 ? (outputs.length === 1 ? `its output is ${counts[0][0]}` : `all ${outputs.length} outputs ${counts[0][0]}`) : counts.map(([one, count]) => `${count} ${one}`).join(", ")) : "not running";
  if (text === summed) return;
  summed = text;
  byId("summary").replaceChildren(sign(live.running ? counts[0][0] : "failed"), html("span", {}, text));
}

let counted = "";

function ledger(rows) {
  const signature = JSON.stringify(rows);
  if (signature === counted) return;
  counted = signature;
  const frame = byId("ledger");
  if (!rows.length) {
    frame.replaceChildren(html("p", { class: "none" }, "none"));
    return;
  }
  const head = html("tr", {}, html("th", {}, "stream or box"), html("th", {}, "reason"), html("th", { class: "count" }, "count"));
  const lines = rows.map((row) => html("tr", {}, html("td", {}, row.stream), html("td", {}, row.reason), html("td", { class: "count" }, `${row.count.toLocaleString("en")} ${row.of}`)));
  frame.replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...lines)));
}
