// Play, pause, step, speed, scrub, and the way from event to event.

import { grouped, h, plain, soon } from "./dom";
import { scheme, VERMILLION } from "./palette";
import type { Player } from "./player";

const SPEEDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/** Kinds that people look for come first, and make up "all of note". */
const NOTED = ["birth", "death", "capture", "align", "scramble", "clips_align", "heart_made", "exhausted"];

export class Transport {
  readonly element: HTMLElement;
  readonly kinds = h("select", { "aria-label": "Kind of event", title: "Events to jump between" });
  private button = h("button.play", { onclick: () => this.player.toggle() });
  private range = h("input.scrub", { type: "range", min: 0, step: 1, "aria-label": "Tick" });
  private strip = h("canvas.strip");
  private clock = h("output.clock");
  private speed = h("select", { "aria-label": "Speed", title: "Speed (+ and -)" });
  private live = h("button.live", { hidden: true, title: "Keep to the newest tick", onclick: () => this.toLive() });
  private shown = "";

  constructor(private player: Player) {
    this.range.addEventListener("input", () => { player.pause(); player.seek(Number(this.range.value)); });
    for (const speed of SPEEDS) this.speed.append(h("option", { value: speed }, `${speed} / s`));
    this.speed.addEventListener("change", () => player.setSpeed(Number(this.speed.value)));
    this.kinds.addEventListener("change", () => this.drawStrip());
    const small = (label: string, title: string, act: () => void) => h("button", { title, "aria-label": title, onclick: act }, label);
    this.element = h("div.transport", {},
      h("div.track", {}, this.strip, this.range),
      h("div.buttons", {},
        small("|‹", "To the beginning (Home)", () => player.seek(0)),
        small("‹", "One tick back (left arrow)", () => player.step(-1)),
        this.button,
        small("›", "One tick on (right arrow)", () => player.step(1)),
        small("›|", "To the end (End)", () => player.seek(player.lastFrame)),
        this.clock, this.live, h("span.space"),
        h("span.events", {},
          small("↤", "The event before ([)", () => this.jump(-1)),
          this.kinds,
          small("↦", "The next event (])", () => this.jump(1))),
        this.speed));
    player.onFrame.on(() => this.showFrame());
    player.onState.on(() => this.showState());
    new ResizeObserver(soon(() => this.drawStrip())).observe(this.strip);
    this.showState();
  }

  /** The replay is another one, or has grown. */
  renew(): void {
    if (!this.player.views.length) return;
    const marks = this.player.main.replay.marks;
    const kinds = [...NOTED.filter((kind) => marks.has(kind)), ...[...marks.keys()].filter((kind) => !NOTED.includes(kind)).sort()];
    if (kinds.join() !== this.shown) {
      const chosen = this.kinds.value;
      this.shown = kinds.join();
      this.kinds.replaceChildren(h("option", { value: "" }, "all of note"), ...kinds.map((kind) => h("option", { value: kind }, plain(kind))));
      this.kinds.value = kinds.includes(chosen) ? chosen : "";
    }
    this.range.max = String(this.player.lastFrame);
    this.drawStrip();
    this.showFrame();
    this.showState();
  }

  private chosen(): string[] {
    if (this.kinds.value) return [this.kinds.value];
    const noted = NOTED.filter((kind) => this.player.main.replay.marks.has(kind));
    return noted.length ? noted : [...this.player.main.replay.marks.keys()];
  }

  jump(direction: 1 | -1): void { this.player.jump(this.chosen(), direction); }

  faster(direction: 1 | -1): void {
    const at = SPEEDS.indexOf(this.player.speed);
    this.player.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + direction))]);
  }

  private toLive(): void {
    this.player.seek(this.player.lastFrame);
    this.player.play();
  }

  private showFrame(): void {
    const { player } = this;
    if (!player.views.length) return;
    this.range.value = String(player.frame);
    const last = player.main.replay.ticks[player.main.replay.frames - 1];
    this.clock.value = `tick ${grouped(player.tick)} of ${grouped(last)}`;
    document.body.dataset.tick = String(player.tick);
    document.body.dataset.drawn = String(player.main.frame);
    this.live.classList.toggle("on", player.atEnd);
  }

  private showState(): void {
    const playing = this.player.playing;
    this.button.textContent = playing ? "❚❚" : "▶";
    this.button.title = playing ? "Pause (space)" : "Play (space)";
    this.button.setAttribute("aria-label", this.button.title);
    this.speed.value = String(this.player.speed);
    const live = this.player.views.length > 0 && this.player.main.replay.live;
    this.live.hidden = !live;
    this.live.textContent = "● live";
  }

  /** Where the chosen events are, as a strip above the slider. */
  private drawStrip(): void {
    const pen = this.strip.getContext("2d")!;
    const [width, height] = [this.strip.clientWidth, this.strip.clientHeight];
    if (!width || !this.player.views.length) return;
    [this.strip.width, this.strip.height] = [width, height];
    const counts = new Float32Array(width);
    const last = Math.max(1, this.player.lastFrame);
    for (const kind of this.chosen()) {
      for (const frame of this.player.main.replay.marks.get(kind) ?? []) {
        counts[Math.min(width - 1, Math.floor((frame / last) * (width - 1)))]++;
      }
    }
    const most = Math.max(1, ...counts);
    pen.fillStyle = scheme().dark ? "#e0824a" : VERMILLION;
    counts.forEach((count, x) => {
      const bar = count ? Math.max(2, (height * count) / most) : 0;
      pen.fillRect(x, height - bar, 1, bar);
    });
  }
}
