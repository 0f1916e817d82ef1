// One stream of news from the server: opened again by itself after every break, and when nothing came for too long.

const AGAIN = 1000;
const SILENCE = 8000;

export function connect(told, linked) {
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
    close();
    linked(false);
    again = setTimeout(open, AGAIN);
  }

  function close() {
    clearTimeout(watchdog);
    clearTimeout(again);
    source?.close();
  }

  open();
  return close;
}
