// What the server tells, for as long as the page is open: it is asked again by itself after every break.

const AGAIN = 1000;
const SILENCE = 8000;

export function follow(told, linked) {
  let source = null;
  let watchdog = 0;
  let again = 0;

  function open() {
    clearTimeout(again);
    source?.close();
    source = new EventSource("/api/live");
    source.onmessage = (event) => {
      watch();
      linked(true);
      told(JSON.parse(event.data));
    };
    source.onerror = lost;
    watch();
  }

  function watch() {
    clearTimeout(watchdog);
    watchdog = setTimeout(lost, SILENCE);
  }

  function lost() {
    clearTimeout(watchdog);
    source?.close();
    linked(false);
    clearTimeout(again);
    again = setTimeout(open, AGAIN);
  }

  open();
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
