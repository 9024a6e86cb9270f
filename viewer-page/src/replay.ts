// A replay in the page: numbers of all its frames, and the frames themselves as they are needed.

import { checkHead, columnOf, type Block } from "./form";
import { Lives } from "./lives";
import type { Parts, ReplaySource } from "./source";

const KEPT_CHUNKS = 6;

export interface WorldEvent { frame: number; tick: number; kind: string; uid: number; other: number; value: number; note: string }

/** Some frames, unpacked. Cells are worked out going forwards from the first. */
export class Chunk {
  readonly rows: number;
  private columns = new Map<string, Int32Array>();
  private cells: Uint8Array;
  private at = 0; // the frame that `cells` shows
  private where: Int32Array;
  private starts: Int32Array; // of each frame's changes

  constructor(readonly first: number, readonly count: number, private block: Block) {
    this.rows = block.arrays.get("uid/first")!.array.length;
    this.cells = Uint8Array.from(block.arrays.get("cells")!.array);
    const steps = block.arrays.get("changed_where")!.array;
    const when = block.arrays.get("changed_when")!.array;
    this.where = new Int32Array(steps.length);
    this.starts = new Int32Array(count + 1);
    for (let i = 0, place = 0; i < steps.length; i++) {
      this.where[i] = place += steps[i];
      this.starts[when[i] + 1]++;
    }
    for (let i = 0; i < count; i++) this.starts[i + 1] += this.starts[i];
  }

  has(name: string): boolean { return this.block.arrays.has(`${name}/first`); }

  /** A column of one frame; its length is the rows, or a multiple of them. */
  column(name: string, frame: number): Int32Array {
    let column = this.columns.get(name);
    if (!column) this.columns.set(name, (column = columnOf(this.block, name, this.count)));
    const width = column.length / this.count;
    return column.subarray((frame - this.first) * width, (frame - this.first + 1) * width);
  }

  cellsAt(frame: number): Uint8Array {
    const to = frame - this.first;
    if (to < this.at) {
      this.cells.set(this.block.arrays.get("cells")!.array as Uint8Array);
      this.at = 0;
    }
    const values = this.block.arrays.get("changed_to")!.array;
    for (let i = this.starts[this.at + 1]; i < this.starts[to + 1]; i++) this.cells[this.where[i]] = values[i];
    this.at = to;
    return this.cells;
  }

  events(): WorldEvent[] {
    const column = (name: string) => this.block.arrays.get(`event_${name}`)!.array;
    const { kinds, notes } = this.block.notes;
    const [frame, tick, kind, uid, other, value, note] = ["frame", "tick", "kind", "uid", "other", "value", "note"].map(column);
    return Array.from(frame, (at, i) => ({
      frame: this.first + at, tick: tick[i], kind: kinds[kind[i]], uid: uid[i], other: other[i],
      value: value[i], note: notes[note[i]],
    }));
  }
}

export class Replay {
  head: any;
  result: any | null = null;
  live = false;
  lives: Lives;
  ticks: number[] = [];
  series: Float64Array[] = []; // one line per name of head.series; room grows
  marks = new Map<string, number[]>(); // frames of each kind of event
  private chunks: { first: number; count: number }[] = [];
  private read = 0; // NUMB records read
  private cache = new Map<number, Promise<Chunk>>();
  private ready = new Map<number, Chunk>();

  constructor(readonly source: ReplaySource) { this.lives = new Lives(); }

  get frames(): number { return this.ticks.length; }
  get label(): string { return `${this.source.run} / ${this.source.name}`; }

  static async open(source: ReplaySource): Promise<Replay> {
    const replay = new Replay(source);
    await replay.grow();
    if (!replay.frames) throw new Error(`The replay ${replay.label} has no frames yet.`);
    return replay;
  }

  /** Read what was written since; whether there was anything. */
  async grow(): Promise<boolean> {
    const parts: Parts = await this.source.open();
    const news = parts.chunks.length > this.read;
    checkHead(parts.head);
    this.head = parts.head;
    this.result = parts.result;
    this.live = parts.live;
    if (news) {
      for (const block of await this.source.numbers(this.read)) this.take(block);
      this.chunks = parts.chunks.slice(0, this.read);
    }
    return news;
  }

  private take(block: Block): void {
    const first = this.ticks.length;
    const ticks = block.arrays.get("ticks")!.array;
    const { array, shape } = block.arrays.get("series")!;
    if (!this.series.length) this.series = this.head.series.map(() => new Float64Array(1024));
    this.series = this.series.map((line, i) => {
      let room = line;
      if (first + ticks.length > line.length) (room = new Float64Array(2 * (first + ticks.length))).set(line);
      room.set(array.subarray(i * shape[1], (i + 1) * shape[1]), first);
      return room;
    });
    for (const tick of ticks) this.ticks.push(tick);
    const [at, kind] = [block.arrays.get("mark_frame")!.array, block.arrays.get("mark_kind")!.array];
    for (let i = 0; i < at.length; i++) {
      const name = block.notes.kinds[kind[i]];
      if (!this.marks.has(name)) this.marks.set(name, []);
      this.marks.get(name)!.push(first + at[i]);
    }
    this.lives.take(block);
    this.read++;
  }

  line(name: string): Float64Array {
    return this.series[this.head.series.indexOf(name)].subarray(0, this.frames);
  }

  /** The frame that shows a tick: the last that is not after it. */
  frameOf(tick: number): number {
    let [low, high] = [0, this.frames - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.ticks[middle] <= tick) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private index(frame: number): number {
    let [low, high] = [0, this.chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.chunks[middle].first <= frame) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The chunk of a frame if it is at hand. */
  at(frame: number): Chunk | undefined { return this.ready.get(this.index(frame)); }

  load(frame: number): Promise<Chunk> {
    const index = this.index(frame);
    let found = this.cache.get(index);
    if (found) this.cache.delete(index); // to the end: the least used goes first
    else {
      const { first, count } = this.chunks[index];
      found = this.source.frames(index).then((block) => {
        const chunk = new Chunk(first, count, block);
        this.ready.set(index, chunk);
        return chunk;
      });
      found.catch(() => this.cache.delete(index));
    }
    this.cache.set(index, found);
    for (const old of [...this.cache.keys()].slice(0, -KEPT_CHUNKS)) {
      this.cache.delete(old);
      this.ready.delete(old);
    }
    return found;
  }

  /** Fetch what will be shown next. */
  prepare(frame: number): void {
    const index = this.index(frame) + 1;
    if (index < this.chunks.length && !this.cache.has(index)) void this.load(this.chunks[index].first).catch(() => {});
  }
}
