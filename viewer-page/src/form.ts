// The form of a replay, read: see `kinfolk/replay/format.py`, which writes it.

export type Numbers = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Float32Array;
export interface Named { array: Numbers; shape: number[] }
export interface Block { arrays: Map<string, Named>; notes: any }
export interface Prefix { kind: string; first: number; count: number; at: number; length: number }

const MAGIC = "kinfolk replay 1\n";
const PREFIX_BYTES = 20;
const KINDS: Record<string, any> = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, float32: Float32Array,
};

const MOST_UNPACKED = 64 * 2 ** 20; // bytes of a payload
const MOST_FRAMES = 128; // of a record

/** Unpack a payload; one that would be larger than a record may be is given up on the way. */
export async function inflate(packed: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > MOST_UNPACKED) {
      void reader.cancel();
      throw damaged("a record unpacks to more than a record may have");
    }
    pieces.push(next.value);
  }
  const out = new Uint8Array(length);
  pieces.reduce((at, piece) => { out.set(piece, at); return at + piece.length; }, 0);
  return out;
}

function damaged(reason: string): Error { return new Error(`This replay is damaged: ${reason}.`); }

/** A whole file as a list of its records; one that is cut short ends before the cut. */
export function records(file: Uint8Array): Prefix[] {
  const text = new TextDecoder("latin1");
  if (text.decode(file.subarray(0, MAGIC.length)) !== MAGIC) throw new Error("This is not a replay of kinfolk.");
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const found: Prefix[] = [];
  const frames = new Map([["NUMB", 0], ["FRAM", 0]]); // how many there are so far
  let at = MAGIC.length;
  while (at + PREFIX_BYTES <= file.length) {
    const length = view.getUint32(at + 4, true);
    const start = at + PREFIX_BYTES;
    if (start + length > file.length) break;
    const kind = text.decode(file.subarray(at, at + 4));
    const [first, count] = [view.getUint32(at + 12, true), view.getUint32(at + 16, true)];
    const before = frames.get(kind);
    if (before !== undefined) {
      if (first !== before || count < 1 || count > MOST_FRAMES) throw damaged(`its frames do not go on at byte ${at}`);
      frames.set(kind, first + count);
    } else if (kind !== "HEAD" && kind !== "DONE") throw damaged(`there is no record at byte ${at}`);
    found.push({ kind, length, at: start, first, count });
    at = start + length;
  }
  return found;
}

/** What a head must say before room is made for a map of that size. */
export function checkHead(head: any): void {
  const { width, height, layers } = head?.render_spec ?? {};
  const whole = [width, height].every((side) => Number.isInteger(side) && side > 0);
  if (!whole || !Array.isArray(layers) || width * height * layers.length > MOST_UNPACKED) throw damaged("it has no map, or one that is too large");
  if (![head.groups, head.series, head.slots].every(Array.isArray)) throw damaged("its head lacks groups, series or slots");
}

export function readJson(payload: Uint8Array): any {
  return JSON.parse(new TextDecoder().decode(payload));
}

export function readBlock(payload: Uint8Array): Block {
  if (payload.length < 4) throw damaged("a record has no table of contents");
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const length = view.getUint32(0, true);
  if (4 + length > payload.length) throw damaged("a table of contents is longer than its record");
  const about = readJson(payload.subarray(4, 4 + length));
  const arrays = new Map<string, Named>();
  for (const [name, [kind, shape, at]] of Object.entries<any>(about.arrays)) {
    const count = shape.reduce((product: number, side: number) => product * side, 1);
    const fits = Number.isInteger(count) && count >= 0 && Number.isInteger(at) && at >= 0;
    if (!KINDS[kind] || !fits || 4 + length + at + count * KINDS[kind].BYTES_PER_ELEMENT > payload.length) throw damaged(`the array ${name} does not lie in its record`);
    const array = new KINDS[kind](payload.buffer, payload.byteOffset + 4 + length + at, count);
    arrays.set(name, { array, shape });
  }
  return { arrays, notes: about.notes };
}

/** A column [frames][rows] from its first frame and the steps, which lie row by row. */
export function columnOf(block: Block, name: string, frames: number): Int32Array {
  const first = block.arrays.get(`${name}/first`)?.array;
  const steps = block.arrays.get(`${name}/steps`)?.array;
  if (!first || !steps || steps.length !== first.length * (frames - 1)) throw damaged(`the column ${name} has not ${frames} frames`);
  const rows = first.length;
  const out = new Int32Array(frames * rows);
  for (let row = 0; row < rows; row++) {
    let value = first[row];
    out[row] = value;
    let from = row * (frames - 1);
    for (let at = rows + row; at < out.length; at += rows) {
      value += steps[from++];
      out[at] = value;
    }
  }
  return out;
}
