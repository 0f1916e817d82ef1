// Time goes as whoever looks wants it: a slider over the whole of a recording, played at a speed, or moved by hand and by keys.

import { byId, clock, dress, html, length, say } from "./dom.js";
import { ask } from "./live.js";

const TICK = 200; // milliseconds between two moments that are shown while it plays

export class Replay {
  constructor(facts, told, linked) {
    this.facts = facts;
    this.told = told;
    this.slider = byId("moment");
    this.button = byId("play");
    this.speed = byId("speed");
    this.playing = null;
    this.asking = false;
    byId("replay").hidden = false;
    document.body.classList.add("replaying");
    linked(true, "recorded");
    const whole = facts.end - facts.begin;
    this.slider.max = whole.toFixed(2);
    this.slider.step = "any";
    say(byId("whole"), length(whole));
    byId("moments").append(...facts.marks.map(([at, what]) => {
      const mark = html("span", { class: "moment-mark", title: `${clock(at)} ${what}` });
      mark.style.left = `${(100 * (at - facts.begin)) / Math.max(whole, 1e-9)}%`;
      return mark;
    }));
    this.slider.addEventListener("input", () => this.show());
    this.slider.addEventListener("keydown", (event) => this.key(event));
    this.button.addEventListener("click", () => (this.playing === null ? this.play() : this.pause()));
    document.addEventListener("keydown", (event) => {
      // Where the space bar means nothing else.
      if (event.key === " " && ["BODY", "MAIN", "svg"].includes(event.target.tagName)) {
        event.preventDefault();
        this.button.click();
      }
    });
    this.show();
  }

  get at() {
    return this.facts.begin + Number(this.slider.value);
  }

  // Seconds, and with Shift ten of them; the slider's own steps are too fine to go by keys.
  key(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.slider.value = Number(this.slider.value) + step * (event.shiftKey ? 10 : 1);
    this.show();
  }

  play() {
    if (Number(this.slider.value) >= Number(this.slider.max)) this.slider.value = 0;
    let last = performance.now();
    this.playing = setInterval(() => {
      const now = performance.now();
      this.slider.value = Number(this.slider.value) + ((now - last) / 1000) * Number(this.speed.value);
      last = now;
      this.show();
      if (Number(this.slider.value) >= Number(this.slider.max)) this.pause();
    }, TICK);
    this.worded();
  }

  pause() {
    clearInterval(this.playing);
    this.playing = null;
    this.worded();
  }

  worded() {
    say(this.button, this.playing === null ? "play" : "pause");
    dress(this.button, "aria-pressed", String(this.playing !== null));
  }

  // One question at a time; of what was wanted meanwhile, the last.
  async show() {
    const said = `${clock(this.at)}, ${length(Number(this.slider.value))} after its beginning`;
    say(byId("moment-words"), `${clock(this.at)} · ${length(Number(this.slider.value))}`);
    dress(this.slider, "aria-valuetext", said);
    this.wanted = this.at;
    if (this.asking) return;
    this.asking = true;
    try {
      while (this.wanted !== null) {
        const at = this.wanted;
        this.wanted = null;
        this.told(await ask("/api/frame", { at }));
      }
    } catch (error) {
      this.told({ trouble: error.message });
    } finally {
      this.asking = false;
    }
  }
}
