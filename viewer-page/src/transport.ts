// Transport controls: play, pause, step, speed, the slider, and jumps from event to event.

import { formatInteger, formatName, h, oncePerFrame } from "./dom";
import { colourScheme, VERMILLION } from "./map/palette";
import type { Player } from "./player";

const SPEEDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]; // frames per second

export class Transport {
  readonly element: HTMLElement;
  private kindSelect = h("select", { "aria-label": "Kind of event", title: "Events to jump between" });
  private button = h("button.play", { onclick: () => this.player.toggle() });
  private range = h("input.scrub", { type: "range", min: 0, step: 1, "aria-label": "Tick" });
  private eventStrip = h("canvas.strip");
  private clock = h("output.clock");
  private speed = h("select", { "aria-label": "Speed", title: "Speed (+ and -)" });
  private live = h("button.live", { hidden: true, title: "Go to the newest tick and stay there", onclick: () => this.goLive() });
  private listedKinds = "";

  constructor(private player: Player) {
    this.range.addEventListener("input", () => { player.pause(); player.seek(Number(this.range.value)); });
    for (const speed of SPEEDS) this.speed.append(h("option", { value: speed }, `${speed} / s`));
    this.speed.addEventListener("change", () => player.setSpeed(Number(this.speed.value)));
    this.kindSelect.addEventListener("change", () => this.drawStrip());
    const button = (label: string, title: string, action: () => void) => h("button", { title, "aria-label": title, onclick: action }, label);
    this.element = h("div.transport", {},
      h("div.track", {}, this.eventStrip, this.range),
      h("div.buttons", {},
        button("|‹", "First tick (Home)", () => player.seek(0)),
        button("‹", "One tick back (left arrow)", () => player.step(-1)),
        this.button,
        button("›", "One tick on (right arrow)", () => player.step(1)),
        button("›|", "Last tick (End)", () => player.seek(player.lastFrame)),
        this.clock, this.live, h("span.space"),
        h("span.events", {},
          button("↤", "Previous event ([)", () => this.jump(-1)),
          this.kindSelect,
          button("↦", "Next event (])", () => this.jump(1))),
        this.speed));
    player.onFrame.on(() => this.showFrame());
    player.onState.on(() => this.showState());
    new ResizeObserver(oncePerFrame(() => this.drawStrip())).observe(this.eventStrip);
    this.showState();
  }

  /** Update the controls: the replay is another one, or has grown. */
  refresh(): void {
    if (!this.player.views.length) return;
    const marks = this.player.main.replay.marks;
    const main = this.mainKinds();
    const kinds = [...main, ...[...marks.keys()].filter((kind) => !main.includes(kind)).sort()];
    if (kinds.join() !== this.listedKinds) {
      const selected = this.kindSelect.value;
      this.listedKinds = kinds.join();
      this.kindSelect.replaceChildren(h("option", { value: "" }, "main events"), ...kinds.map((kind) => h("option", { value: kind }, formatName(kind))));
      this.kindSelect.value = kinds.includes(selected) ? selected : "";
    }
    this.range.max = String(this.player.lastFrame);
    this.drawStrip();
    this.showFrame();
    this.showState();
  }

  /** The kinds that are listed first, and that are jumped between unless one is selected. */
  private mainKinds(): string[] {
    const { head, marks } = this.player.main.replay;
    return ((head.render_spec.main_events ?? []) as string[]).filter((kind) => marks.has(kind));
  }

  private selectedKinds(): string[] {
    if (this.kindSelect.value) return [this.kindSelect.value];
    const present = this.mainKinds();
    return present.length ? present : [...this.player.main.replay.marks.keys()];
  }

  jump(direction: 1 | -1): void { this.player.jump(this.selectedKinds(), direction); }

  changeSpeed(direction: 1 | -1): void {
    const index = SPEEDS.indexOf(this.player.speed);
    this.player.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, index + direction))]);
  }

  private goLive(): void {
    this.player.seek(this.player.lastFrame);
    this.player.play();
  }

  private showFrame(): void {
    const { player } = this;
    if (!player.views.length) return;
    this.range.value = String(player.frame);
    const last = player.longest.lastTick;
    this.clock.value = `tick ${formatInteger(player.tick)} of ${formatInteger(last)}`;
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

  /** Draw how many of the selected events each part of the replay has, above the slider. */
  private drawStrip(): void {
    const pen = this.eventStrip.getContext("2d")!;
    const [width, height] = [this.eventStrip.clientWidth, this.eventStrip.clientHeight];
    if (!width || !this.player.views.length) return;
    [this.eventStrip.width, this.eventStrip.height] = [width, height];
    const counts = new Float32Array(width);
    const last = Math.max(1, this.player.lastFrame);
    for (const kind of this.selectedKinds()) {
      for (const frame of this.player.main.replay.marks.get(kind) ?? []) {
        counts[Math.min(width - 1, Math.floor((frame / last) * (width - 1)))]++;
      }
    }
    const largest = Math.max(1, ...counts);
    pen.fillStyle = colourScheme().dark ? "#e0824a" : VERMILLION;
    counts.forEach((count, x) => {
      const bar = count ? Math.max(2, (height * count) / largest) : 0;
      pen.fillRect(x, height - bar, 1, bar);
    });
  }
}
