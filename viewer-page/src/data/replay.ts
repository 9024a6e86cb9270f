// A replay in memory: the series of all its frames, and the frames themselves as they are needed.

import { AgentLog } from "./agents";
import { checkHead, decodeColumn, type Arrays } from "./format";
import type { ReplaySource } from "./source";

const MAX_CACHED_CHUNKS = 6;

export interface WorldEvent { frame: number; tick: number; kind: string; uid: number; other: number; value: number; note: string }

/** The last index whose value is not above `limit`; `valueAt` must increase. */
function lastNotAbove(count: number, valueAt: (i: number) => number, limit: number): number {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (valueAt(middle) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The frames of one FRAM record. Cells are computed by applying changes forwards from the first frame. */
export class Chunk {
  readonly rows: number;
  private columns = new Map<string, Int32Array>();
  private cells: Uint8Array;
  private current = 0; // frame, within the chunk, that `cells` holds
  private changedCells: Int32Array;
  private changeStarts: Int32Array; // index of the first change of each frame

  constructor(readonly first: number, readonly count: number, private data: Arrays) {
    this.rows = this.array("uid/first").length;
    this.cells = Uint8Array.from(this.array("cells"));
    const [deltas, frames] = [this.array("change_cell_delta"), this.array("change_frame")];
    this.changedCells = new Int32Array(deltas.length);
    this.changeStarts = new Int32Array(count + 1);
    for (let i = 0, cell = 0; i < deltas.length; i++) {
      this.changedCells[i] = cell += deltas[i];
      this.changeStarts[frames[i] + 1]++;
    }
    for (let i = 0; i < count; i++) this.changeStarts[i + 1] += this.changeStarts[i];
  }

  private array(name: string) { return this.data.arrays.get(name)!.array; }

  has(name: string): boolean { return this.data.arrays.has(`${name}/first`); }

  /** A column in one frame; its length is the number of rows, or a multiple of it. */
  column(name: string, frame: number): Int32Array {
    let column = this.columns.get(name);
    if (!column) this.columns.set(name, (column = decodeColumn(this.data, name, this.count)));
    const width = column.length / this.count;
    return column.subarray((frame - this.first) * width, (frame - this.first + 1) * width);
  }

  /** The cells of all layers in one frame; valid until the next call. */
  cellsAt(frame: number): Uint8Array {
    const target = frame - this.first;
    if (target < this.current) {
      this.cells.set(this.array("cells") as Uint8Array);
      this.current = 0;
    }
    const values = this.array("change_value");
    for (let i = this.changeStarts[this.current + 1]; i < this.changeStarts[target + 1]; i++) this.cells[this.changedCells[i]] = values[i];
    this.current = target;
    return this.cells;
  }

  events(): WorldEvent[] {
    const { kinds, notes } = this.data.notes;
    const [frame, tick, kind, uid, other, value, note] = ["frame", "tick", "kind", "uid", "other", "value", "note"].map((name) => this.array(`event_${name}`));
    return Array.from(frame, (frameInChunk, i) => ({
      frame: this.first + frameInChunk, tick: tick[i], kind: kinds[kind[i]], uid: uid[i], other: other[i],
      value: value[i], note: notes[note[i]],
    }));
  }
}

export class Replay {
  head: any;
  result: any | null = null;
  live = false;
  readonly agents = new AgentLog();
  ticks: number[] = []; // of each frame
  marks = new Map<string, number[]>(); // frames of each kind of event
  private values: Float64Array[] = []; // of each series of head.series; capacity grows
  private chunks: { first: number; count: number }[] = [];
  private recordsRead = 0; // SERI records
  private loading = new Map<number, Promise<Chunk>>(); // by chunk, least recently used first
  private loaded = new Map<number, Chunk>();

  constructor(readonly source: ReplaySource) {}

  get frames(): number { return this.ticks.length; }
  get lastTick(): number { return this.ticks[this.frames - 1]; }
  get label(): string { return `${this.source.run} / ${this.source.name}`; }

  static async open(source: ReplaySource): Promise<Replay> {
    const replay = new Replay(source);
    await replay.refresh();
    if (!replay.frames) throw new Error(`The replay ${replay.label} has no frames yet.`);
    return replay;
  }

  /** Read what was written since the last call; whether there was anything. */
  async refresh(): Promise<boolean> {
    const info = await this.source.info();
    const grew = info.chunks.length > this.recordsRead;
    checkHead(info.head);
    [this.head, this.result, this.live] = [info.head, info.result, info.live];
    if (grew) {
      for (const record of await this.source.series(this.recordsRead)) this.addSeries(record);
      this.chunks = info.chunks.slice(0, this.recordsRead);
    }
    return grew;
  }

  private addSeries(record: Arrays): void {
    const { arrays, notes } = record;
    const first = this.ticks.length;
    const ticks = arrays.get("ticks")!.array;
    const { array, shape } = arrays.get("series")!;
    if (!this.values.length) this.values = this.head.series.map(() => new Float64Array(1024));
    this.values = this.values.map((line, i) => {
      let buffer = line;
      if (first + ticks.length > line.length) (buffer = new Float64Array(2 * (first + ticks.length))).set(line);
      buffer.set(array.subarray(i * shape[1], (i + 1) * shape[1]), first);
      return buffer;
    });
    for (const tick of ticks) this.ticks.push(tick);
    const [frame, kind] = [arrays.get("mark_frame")!.array, arrays.get("mark_kind")!.array];
    for (let i = 0; i < frame.length; i++) {
      const name = notes.kinds[kind[i]];
      if (!this.marks.has(name)) this.marks.set(name, []);
      this.marks.get(name)!.push(first + frame[i]);
    }
    this.agents.add(record);
    this.recordsRead++;
  }

  /** The values of a series, one per frame. */
  series(name: string): Float64Array {
    return this.values[this.head.series.indexOf(name)].subarray(0, this.frames);
  }

  /** The frame that shows a tick: the last one that is not after it. */
  frameOf(tick: number): number { return lastNotAbove(this.frames, (frame) => this.ticks[frame], tick); }

  private chunkIndex(frame: number): number { return lastNotAbove(this.chunks.length, (i) => this.chunks[i].first, frame); }

  /** The chunk that contains a frame, if it is loaded. */
  loadedChunk(frame: number): Chunk | undefined { return this.loaded.get(this.chunkIndex(frame)); }

  load(frame: number): Promise<Chunk> {
    const index = this.chunkIndex(frame);
    let chunk = this.loading.get(index);
    if (chunk) this.loading.delete(index); // and insert it again at the end
    else {
      const { first, count } = this.chunks[index];
      chunk = this.source.frames(index).then((data) => {
        const made = new Chunk(first, count, data);
        this.loaded.set(index, made);
        return made;
      });
      chunk.catch(() => this.loading.delete(index));
    }
    this.loading.set(index, chunk);
    for (const oldest of [...this.loading.keys()].slice(0, -MAX_CACHED_CHUNKS)) {
      this.loading.delete(oldest);
      this.loaded.delete(oldest);
    }
    return chunk;
  }

  /** Load the chunk after the one that contains a frame. */
  prefetch(frame: number): void {
    const index = this.chunkIndex(frame) + 1;
    if (index < this.chunks.length && !this.loading.has(index)) void this.load(this.chunks[index].first).catch(() => {});
  }
}
