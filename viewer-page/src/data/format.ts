// Reading the replay format that `kinfolk/replay/codec.py` describes and writes.

export type TypedArray = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Float32Array;
export interface NamedArray { array: TypedArray; shape: number[] }
export interface Arrays { arrays: Map<string, NamedArray>; notes: any }
export interface RecordRef { kind: string; first: number; count: number; offset: number; length: number }

const MAGIC_PREFIX = "kinfolk replay ";
const FORMAT_VERSION = 5;
const MAGIC = `${MAGIC_PREFIX}${FORMAT_VERSION}\n`;
const HEADER_BYTES = 80; // kind, length, first, count; then checksums, which the exporter has checked
const ARRAY_TYPES: Record<string, any> = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, float32: Float32Array,
};
const MAX_PAYLOAD_BYTES = 128 * 2 ** 20;
const MAX_FRAMES = 128; // of one record

/** Decompress a payload; stops with an error once it is larger than a record may be. */
export async function inflate(compressed: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([compressed as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > MAX_PAYLOAD_BYTES) {
      void reader.cancel();
      throw damageError("a record is larger than a record may be");
    }
    parts.push(next.value);
  }
  const payload = new Uint8Array(length);
  parts.reduce((offset, part) => { payload.set(part, offset); return offset + part.length; }, 0);
  return payload;
}

function damageError(reason: string): Error { return new Error(`This replay is damaged: ${reason}.`); }

/** List the records of a whole file; of a file that is cut short, those before the cut. */
export function listRecords(file: Uint8Array): RecordRef[] {
  const text = new TextDecoder("latin1");
  checkMagic(text.decode(file.subarray(0, MAGIC.length)));
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const records: RecordRef[] = [];
  const frames = new Map([["SERI", 0], ["FRAM", 0]]); // frames so far, by kind
  let start = MAGIC.length;
  while (start + HEADER_BYTES <= file.length) {
    const length = view.getUint32(start + 4, true);
    const offset = start + HEADER_BYTES;
    if (offset + length > file.length) break;
    const kind = text.decode(file.subarray(start, start + 4));
    const [first, count] = [view.getUint32(start + 8, true), view.getUint32(start + 12, true)];
    const expected = frames.get(kind);
    if (expected !== undefined) {
      if (first !== expected || count < 1 || count > MAX_FRAMES) throw damageError(`the frames at byte ${start} do not follow those before`);
      frames.set(kind, first + count);
    } else if (kind !== "HEAD" && kind !== "DONE") throw damageError(`there is no record at byte ${start}`);
    records.push({ kind, length, offset, first, count });
    start = offset + length;
  }
  return records;
}

function checkMagic(magic: string): void {
  if (magic === MAGIC) return;
  if (!magic.startsWith(MAGIC_PREFIX)) throw new Error("This is not a replay of kinfolk.");
  throw new Error(`This replay has format ${magic.slice(MAGIC_PREFIX.length).trim()}; this page reads ${FORMAT_VERSION}.`);
}

/** Check the HEAD record before memory is allocated for a map of its size. */
export function checkHead(head: any): void {
  const { width, height, layers } = head?.render_spec ?? {};
  const isSize = [width, height].every((side) => Number.isInteger(side) && side > 0);
  if (!isSize || !Array.isArray(layers) || width * height * layers.length > MAX_PAYLOAD_BYTES) throw damageError("it has no map, or one that is too large");
  if (![head.groups, head.series, head.slots].every(Array.isArray)) throw damageError("its head lacks groups, series or slots");
}

export function readJson(payload: Uint8Array): any {
  return JSON.parse(new TextDecoder().decode(payload));
}

/** Decode the named arrays of a payload, as views into it. */
export function readArrays(payload: Uint8Array): Arrays {
  if (payload.length < 4) throw damageError("a record has no table of contents");
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const length = view.getUint32(0, true);
  if (4 + length > payload.length) throw damageError("a table of contents is longer than its record");
  const contents = readJson(payload.subarray(4, 4 + length));
  const arrays = new Map<string, NamedArray>();
  for (const [name, [type, shape, offset]] of Object.entries<any>(contents.arrays)) {
    const count = shape.reduce((product: number, side: number) => product * side, 1);
    const isValid = Number.isInteger(count) && count >= 0 && Number.isInteger(offset) && offset >= 0;
    if (!ARRAY_TYPES[type] || !isValid || 4 + length + offset + count * ARRAY_TYPES[type].BYTES_PER_ELEMENT > payload.length) throw damageError(`the array ${name} lies outside its record`);
    arrays.set(name, { array: new ARRAY_TYPES[type](payload.buffer, payload.byteOffset + 4 + length + offset, count), shape });
  }
  return { arrays, notes: contents.notes };
}

/** Decode a column [frames][rows] from its first frame and the differences [rows][frames - 1]. */
export function decodeColumn({ arrays }: Arrays, name: string, frames: number): Int32Array {
  const first = arrays.get(`${name}/first`)?.array;
  const deltas = arrays.get(`${name}/deltas`)?.array;
  if (!first || !deltas || deltas.length !== first.length * (frames - 1)) throw damageError(`the column ${name} does not have ${frames} frames`);
  const rows = first.length;
  const column = new Int32Array(frames * rows);
  for (let row = 0; row < rows; row++) {
    let value = first[row];
    column[row] = value;
    let next = row * (frames - 1);
    for (let i = rows + row; i < column.length; i += rows) {
      value += deltas[next++];
      column[i] = value;
    }
  }
  return column;
}
