// The form of a replay, read: see `kinfolk/store/replay_form.py`, which writes it.

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

export async function inflate(packed: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A whole file as a list of its records; one that is cut short ends before the cut. */
export function records(file: Uint8Array): Prefix[] {
  const text = new TextDecoder("latin1");
  if (text.decode(file.subarray(0, MAGIC.length)) !== MAGIC) throw new Error("This is not a replay of kinfolk.");
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const found: Prefix[] = [];
  let at = MAGIC.length;
  while (at + PREFIX_BYTES <= file.length) {
    const length = view.getUint32(at + 4, true);
    const start = at + PREFIX_BYTES;
    if (start + length > file.length) break;
    found.push({
      kind: text.decode(file.subarray(at, at + 4)), length, at: start,
      first: view.getUint32(at + 12, true), count: view.getUint32(at + 16, true),
    });
    at = start + length;
  }
  return found;
}

export function readJson(payload: Uint8Array): any {
  return JSON.parse(new TextDecoder().decode(payload));
}

export function readBlock(payload: Uint8Array): Block {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const length = view.getUint32(0, true);
  const about = readJson(payload.subarray(4, 4 + length));
  const arrays = new Map<string, Named>();
  for (const [name, [kind, shape, at]] of Object.entries<any>(about.arrays)) {
    const count = shape.reduce((product: number, side: number) => product * side, 1);
    const array = new KINDS[kind](payload.buffer, payload.byteOffset + 4 + length + at, count);
    arrays.set(name, { array, shape });
  }
  return { arrays, notes: about.notes };
}

/** A column [frames][rows] from its first frame and the steps, which lie row by row. */
export function columnOf(block: Block, name: string, frames: number): Int32Array {
  const first = block.arrays.get(`${name}/first`)!.array;
  const steps = block.arrays.get(`${name}/steps`)!.array;
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
