// What the server tells for as long as the page is open, and what it answers when it is asked.

import { connect } from "./connecting.js";

export function follow(told, linked) {
  // Not every browser has one; then each tab has a connection of its own.
  if (typeof SharedWorker === "undefined") return connect(told, linked);
  const worker = new SharedWorker("/static/sharing.js", { type: "module" });
  worker.onerror = () => connect(told, linked);
  worker.port.onmessage = ({ data }) => (data.news ? told(data.news) : linked(data.linked));
  addEventListener("pagehide", () => worker.port.postMessage("left"));
  // A page that is shown again as it was has left.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

export function ask(path, parameters = {}) {
  return answered(fetch(`${path}?${new URLSearchParams(parameters)}`));
}

// What changes something needs the token each time: nothing that the browser sends by itself is enough.
export function command(step, asked, token) {
  return answered(fetch(`/api/control/${step}`, { method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: JSON.stringify(asked) }));
}

async function answered(asking) {
  let answer;
  try {
    answer = await asking;
  } catch {
    throw new Error("the server of this page does not answer; it is asked again when it is back");
  }
  const text = await answer.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `the server answered ${answer.status}`);
  }
  if (!answer.ok || found.error) throw new Error(found.error ?? `the server answered ${answer.status}`);
  return found;
}
