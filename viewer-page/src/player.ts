// The player: the current frame of one or two replays, playback, and the selected agent.

import type { Chunk, Replay } from "./data/replay";
import { Signal } from "./dom";
import { MapView, type Highlight } from "./map/map_view";

const MAX_GLIDE_SPEED = 16; // frames per second up to which agents move smoothly between frames
const MAX_SPEED = 2000; // frames per second
const MAX_ELAPSED = 0.1; // seconds between two animation frames, however long the page was hidden
const N_FRAME_TIMES = 600;

/** One replay on one map. */
export class ReplayView {
  map: MapView;
  frame = 0;
  chunk: Chunk | null = null;
  private requests = 0;

  constructor(box: HTMLElement, readonly replay: Replay) { this.map = new MapView(box, replay); }

  /** Draw a frame if its chunk is loaded; else load it and call `onLoad`, unless another frame was requested since. */
  show(requested: number, highlight: Highlight, progress: number, onLoad: () => void): void {
    const frame = Math.max(0, Math.min(requested, this.replay.frames - 1));
    const chunk = this.replay.loadedChunk(frame);
    const request = ++this.requests;
    if (!chunk) {
      void this.replay.load(frame).then(() => { if (request === this.requests) onLoad(); }, (error) => this.onError(error));
      return;
    }
    if (chunk !== this.chunk) this.replay.prefetch(frame);
    [this.chunk, this.frame] = [chunk, frame];
    this.map.draw(chunk, frame, highlight, progress);
  }

  onError: (error: Error) => void = () => {};

  /** The row of an agent in the frame that is shown; -1 if it is not in it. */
  rowOf(uid: number): number { return this.chunk ? this.chunk.column("uid", this.frame).indexOf(uid) : -1; }
}

export class Player {
  views: ReplayView[] = [];
  position = 0; // in frames of the first view; whole when paused
  playing = false;
  speed = 10; // frames per second
  follow = false; // keep the selected agent in the middle
  showViewRadius = true;
  selected: number | null = null;
  marked: Set<number> | null = null; // uids; all other agents are faded
  atEnd = false; // at the newest frame of a live run, and to be kept there
  readonly onFrame = new Signal();
  readonly onState = new Signal();
  readonly onSelect = new Signal();
  frameTimes: number[] = []; // milliseconds of script for each of the last frames drawn
  private lastTime = 0;
  private dirty = true;

  constructor() { requestAnimationFrame((now) => this.animate(now)); }

  get main(): ReplayView { return this.views[0]; }
  get frame(): number { return Math.floor(this.position); }
  get tick(): number { return (this.main.replay.ticks[this.frame] ?? this.longest.ticks[this.frame]) ?? 0; }
  /** The replay with most frames, which goes on when the other is over. */
  get longest(): Replay { return this.views.map((view) => view.replay).reduce((a, b) => (b.frames > a.frames ? b : a)); }
  get lastFrame(): number { return this.longest.frames - 1; }

  setViews(views: ReplayView[]): void {
    this.views = views;
    views.forEach((view) => (view.map.onCamera = () => this.redraw()));
    this.position = 0;
    this.selected = this.marked = null;
    this.redraw();
    this.onSelect.emit();
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
    this.onState.emit();
  }

  pause(): void {
    this.playing = false;
    this.position = this.frame;
    this.redraw();
    this.onState.emit();
  }

  toggle(): void { this.playing ? this.pause() : this.play(); }

  setSpeed(speed: number): void {
    this.speed = Math.max(1, Math.min(MAX_SPEED, speed));
    this.onState.emit();
  }

  select(uid: number | null): void {
    this.selected = uid;
    if (uid === null) this.follow = false;
    this.redraw();
    this.onSelect.emit();
  }

  /** Mark some agents and fade the others; null clears the marks. */
  mark(uids: Set<number> | null): void {
    this.marked = uids;
    this.redraw();
    this.onSelect.emit();
  }

  redraw(): void { this.dirty = true; }

  private animate(now: number): void {
    const start = performance.now();
    const elapsed = Math.min(MAX_ELAPSED, (now - this.lastTime) / 1000);
    this.lastTime = now;
    if (this.playing && this.views.length) this.advance(elapsed);
    if (this.dirty && this.views.length) {
      this.dirty = false;
      this.draw();
      this.frameTimes.push(performance.now() - start);
      if (this.frameTimes.length > N_FRAME_TIMES) this.frameTimes.shift();
    }
    requestAnimationFrame((next) => this.animate(next));
  }

  private advance(elapsed: number): void {
    const before = this.position;
    this.position = Math.min(this.position + this.speed * elapsed, this.lastFrame);
    const missing = this.views.filter((view) => !view.replay.loadedChunk(Math.min(this.frame, view.replay.frames - 1)));
    for (const view of missing) void view.replay.load(Math.min(this.frame, view.replay.frames - 1)).catch(view.onError);
    if (missing.length) this.position = before; // wait until they are loaded
    else if (Math.floor(before) !== this.frame || this.speed <= MAX_GLIDE_SPEED) this.redraw();
    if (this.position >= this.lastFrame && !this.main.replay.live) this.pause();
  }

  private draw(): void {
    const frame = this.frame;
    const progress = this.playing && this.speed <= MAX_GLIDE_SPEED ? this.position - frame : 0;
    const tick = this.tick;
    this.views.forEach((view, i) => {
      const highlight = { selected: i ? null : this.selected, marked: i ? null : this.marked, viewRadius: this.showViewRadius };
      if (!i && this.follow && this.selected !== null) this.centreOnSelected(view, frame);
      view.show(i ? view.replay.frameOf(tick) : frame, highlight, progress, () => this.redraw());
    });
    this.onFrame.emit();
  }

  private centreOnSelected(view: ReplayView, frame: number): void {
    const chunk = view.replay.loadedChunk(frame);
    const row = chunk ? chunk.column("uid", frame).indexOf(this.selected!) : -1;
    if (!chunk || row < 0) return;
    const cell = chunk.column("cell", frame)[row];
    view.map.centreOn(cell % view.map.width, Math.floor(cell / view.map.width));
  }

  /** Go to the nearest later or earlier frame that has an event of one of these kinds. */
  jump(kinds: string[], direction: 1 | -1): void {
    let target = -1;
    for (const kind of kinds) {
      for (const frame of this.main.replay.marks.get(kind) ?? []) {
        const isBeyond = direction * (frame - this.frame) > 0;
        if (isBeyond && (target < 0 || direction * (frame - target) < 0)) target = frame;
      }
    }
    if (target < 0) return;
    this.pause();
    this.seek(target);
  }
}
