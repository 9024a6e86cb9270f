// The player: one clock, one or two views that show what it says, and what is selected.

import { Signal } from "./dom";
import type { Chunk, Replay } from "./replay";
import { Stage, type Highlight } from "./stage";

const SMOOTH_BELOW = 16; // frames a second up to which agents glide

/** One replay on one stage. */
export class View {
  stage: Stage;
  frame = 0;
  chunk: Chunk | null = null;
  private asked = 0;

  constructor(readonly box: HTMLElement, readonly replay: Replay) { this.stage = new Stage(box, replay); }

  /** Show a frame: at once if it is at hand, else as soon as it is. Whether it was at hand. */
  show(frame: number, high: Highlight, ahead: number, then: () => void): boolean {
    const at = Math.max(0, Math.min(frame, this.replay.frames - 1));
    const ready = this.replay.at(at);
    const asked = ++this.asked;
    if (!ready) {
      void this.replay.load(at).then(() => { if (asked === this.asked) then(); }, (error) => this.onError(error));
      return false;
    }
    if (ready !== this.chunk) this.replay.prepare(at);
    [this.chunk, this.frame] = [ready, at];
    this.stage.draw(ready, at, high, ahead);
    return true;
  }

  onError: (error: Error) => void = () => {};

  /** The row of a life in the frame that is shown; -1 if it is not there. */
  rowOf(uid: number): number { return this.chunk ? this.chunk.column("uid", this.frame).indexOf(uid) : -1; }
}

export class Player {
  views: View[] = [];
  position = 0; // in frames of the first view; whole when paused
  playing = false;
  speed = 10; // frames a second
  follow = false;
  sight = true;
  selected: number | null = null;
  marked: Set<number> | null = null;
  atEnd = false; // keep to the newest frame of a live run
  readonly onFrame = new Signal();
  readonly onState = new Signal();
  readonly onSelect = new Signal();
  frameTimes: number[] = []; // milliseconds of script, of the last frames drawn
  private last = 0;
  private dirty = true;

  constructor() { requestAnimationFrame((now) => this.turn(now)); }

  get main(): View { return this.views[0]; }
  get frame(): number { return Math.floor(this.position); }
  get tick(): number { return this.main.replay.ticks[this.frame] ?? 0; }
  get lastFrame(): number { return Math.max(...this.views.map((view) => view.replay.frames)) - 1; }

  setViews(views: View[]): void {
    this.views = views;
    views.forEach((view) => (view.stage.onCamera = () => this.redraw()));
    this.position = 0;
    this.selected = this.marked = null;
    this.redraw();
    this.onSelect.say();
  }

  seek(frame: number): void {
    this.position = Math.max(0, Math.min(Math.round(frame), this.lastFrame));
    this.atEnd = this.main.replay.live && this.position === this.lastFrame;
    this.redraw();
  }

  step(by: number): void {
    this.pause();
    this.seek(this.frame + by);
  }

  play(): void {
    if (this.frame >= this.lastFrame && !this.main.replay.live) this.position = 0;
    this.playing = true;
    this.onState.say();
  }

  pause(): void {
    this.playing = false;
    this.position = this.frame;
    this.redraw();
    this.onState.say();
  }

  toggle(): void { this.playing ? this.pause() : this.play(); }

  setSpeed(speed: number): void {
    this.speed = Math.max(1, Math.min(2000, speed));
    this.onState.say();
  }

  select(uid: number | null): void {
    this.selected = uid;
    if (uid === null) this.follow = false;
    this.redraw();
    this.onSelect.say();
  }

  /** Mark some lives and fade the others; null marks nobody. */
  mark(uids: Set<number> | null): void {
    this.marked = uids;
    this.redraw();
    this.onSelect.say();
  }

  redraw(): void { this.dirty = true; }

  private turn(now: number): void {
    const begun = performance.now();
    const passed = Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    if (this.playing && this.views.length) this.advance(passed);
    if (this.dirty && this.views.length) {
      this.dirty = false;
      this.draw();
      this.frameTimes.push(performance.now() - begun);
      if (this.frameTimes.length > 600) this.frameTimes.shift();
    }
    requestAnimationFrame((next) => this.turn(next));
  }

  private advance(passed: number): void {
    const before = this.position;
    this.position = Math.min(this.position + this.speed * passed, this.lastFrame);
    const missing = this.views.filter((view) => !view.replay.at(Math.min(this.frame, view.replay.frames - 1)));
    for (const view of missing) void view.replay.load(Math.min(this.frame, view.replay.frames - 1)).catch(view.onError);
    if (missing.length) this.position = before; // wait for what is not here yet
    else if (Math.floor(before) !== this.frame || this.speed <= SMOOTH_BELOW) this.redraw();
    if (this.position >= this.lastFrame && !this.main.replay.live) this.pause();
  }

  private draw(): void {
    const frame = this.frame;
    const ahead = this.playing && this.speed <= SMOOTH_BELOW ? this.position - frame : 0;
    const tick = this.tick;
    this.views.forEach((view, i) => {
      const high = { selected: i ? null : this.selected, marked: i ? null : this.marked, sight: this.sight };
      if (!i && this.follow && this.selected !== null) this.centre(view, frame);
      view.show(i ? view.replay.frameOf(tick) : frame, high, ahead, () => this.redraw());
    });
    this.onFrame.say();
  }

  private centre(view: View, frame: number): void {
    const chunk = view.replay.at(frame);
    const row = chunk ? chunk.column("uid", frame).indexOf(this.selected!) : -1;
    if (!chunk || row < 0) return;
    const cell = chunk.column("cell", frame)[row];
    view.stage.centre(cell % view.stage.width, Math.floor(cell / view.stage.width));
  }

  /** Go to the next or last frame that has an event of one of these kinds. */
  jump(kinds: string[], direction: 1 | -1): void {
    const here = this.frame;
    let found = -1;
    for (const kind of kinds) {
      for (const frame of this.main.replay.marks.get(kind) ?? []) {
        const beyond = direction > 0 ? frame > here : frame < here;
        if (beyond && (found < 0 || direction * (frame - found) < 0)) found = frame;
      }
    }
    if (found < 0) return;
    this.pause();
    this.seek(found);
  }
}
