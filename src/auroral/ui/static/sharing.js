// A worker that all tabs of the page share. A browser has six connections to a server at most, and news take one for good: here that is one for
// all tabs, however many there are.

import { connect } from "./connecting.js";

const MOST = 600; // squares of an output that a tab that comes later is told of, as the server remembers
const ports = new Set();
let close = null;
let live = {};
let squares = new Map(); // by output and bucket
let there = null;

globalThis.onconnect = ({ ports: [port] }) => {
  ports.add(port);
  port.onmessage = () => left(port);
  if (close === null) begin();
  else if (there !== null) {
    port.postMessage({ linked: there });
    if (live.now) port.postMessage({ news: { ...live, squares: whole() } });
  }
};

function left(port) {
  ports.delete(port);
  if (ports.size) return;
  // While nobody looks, nothing is asked.
  close?.();
  close = null;
}

function begin() {
  live = {};
  squares = new Map();
  there = null;
  close = connect(told, (linked) => {
    there = linked;
    for (const port of ports) port.postMessage({ linked });
  });
}

function told(news) {
  if (news.squares_of && news.squares_of !== live.squares_of) squares = new Map();
  const { squares: added, ...rest } = news;
  // What is not said any more does not hold any more.
  live = { ...live, trouble: undefined, ...rest };
  for (const [name, found] of Object.entries(added ?? {})) remember(name, found);
  for (const port of ports) port.postMessage({ news });
}

function remember(name, found) {
  if (!squares.has(name)) squares.set(name, new Map());
  const mine = squares.get(name);
  let newest = -1;
  for (const one of found) mine.set(one.b, one);
  for (const bucket of mine.keys()) newest = Math.max(newest, bucket);
  for (const bucket of mine.keys()) if (bucket <= newest - MOST) mine.delete(bucket);
}

function whole() {
  return Object.fromEntries([...squares].map(([name, mine]) => [name, [...mine.values()]]));
}
