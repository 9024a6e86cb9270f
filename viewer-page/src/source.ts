// Where replays come from: a server, or the page itself when it was exported as one file.

import { inflate, readBlock, readJson, records, type Block, type Prefix } from "./form";

export interface Parts { head: any; chunks: { first: number; count: number }[]; result: any | null; live: boolean }

export interface RunInfo {
  name: string; job: string; status: string; world: string; settings: any;
  replays: { name: string; bytes: number }[]; roles: boolean; problem: string; // what is wrong with it, if anything
}

/** The table and the verdict of a comparison. */
export interface Results { title: string; headings: string[]; rows: string[][]; verdict: string[] }

/** One replay that can be read a piece at a time. */
export interface ReplaySource {
  run: string;
  name: string;
  open(): Promise<Parts>;
  numbers(from: number): Promise<Block[]>;
  frames(chunk: number): Promise<Block>;
}

export interface Source {
  embedded: boolean;
  runs(): Promise<RunInfo[]>;
  replay(run: string, name: string): ReplaySource;
  metrics(run: string): Promise<any>;
  results(run: string): Promise<Results | null>;
  roles(run: string): Promise<any | null>;
}

async function asked(path: string): Promise<Response> {
  const answer = await fetch(path, { headers: { "x-kinfolk": "page" } });
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({ error: `The server answered ${answer.status}.` }));
    throw new Error(said.error);
  }
  return answer;
}

const word = encodeURIComponent;

class ServedReplay implements ReplaySource {
  constructor(readonly run: string, readonly name: string) {}
  private get path(): string { return `api/runs/${word(this.run)}/replays/${word(this.name)}`; }
  async open(): Promise<Parts> { return (await asked(this.path)).json(); }
  async numbers(from: number): Promise<Block[]> {
    const all = new Uint8Array(await (await asked(`${this.path}/numbers?from=${from}`)).arrayBuffer());
    const view = new DataView(all.buffer);
    const packed: Uint8Array[] = [];
    for (let at = 0; at < all.length; ) {
      const length = at + 4 <= all.length ? view.getUint32(at, true) : Infinity;
      if (at + 4 + length > all.length) throw new Error("The server's answer is cut short.");
      packed.push(all.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    return Promise.all(packed.map(async (one) => readBlock(await inflate(one))));
  }
  async frames(chunk: number): Promise<Block> {
    const answer = await asked(`${this.path}/frames/${chunk}`);
    return readBlock(await inflate(new Uint8Array(await answer.arrayBuffer())));
  }
}

export class Server implements Source {
  embedded = false;
  async runs(): Promise<RunInfo[]> { return (await asked("api/runs")).json(); }
  replay(run: string, name: string): ReplaySource { return new ServedReplay(run, name); }
  async metrics(run: string): Promise<any> { return (await asked(`api/runs/${word(run)}/metrics`)).json(); }
  async results(run: string): Promise<Results | null> { return (await asked(`api/runs/${word(run)}/results`)).json(); }
  async roles(run: string): Promise<any | null> {
    return (await asked(`api/runs/${word(run)}/roles`)).json();
  }
}

class EmbeddedReplay implements ReplaySource {
  private parts: Map<string, Prefix[]> = new Map();
  constructor(readonly run: string, readonly name: string, private file: Uint8Array) {
    for (const one of records(file)) {
      this.parts.set(one.kind, [...(this.parts.get(one.kind) ?? []), one]);
    }
  }
  private payload(part: Prefix): Promise<Uint8Array> {
    return inflate(this.file.subarray(part.at, part.at + part.length));
  }
  private of(kind: string): Prefix[] { return this.parts.get(kind) ?? []; }
  async open(): Promise<Parts> {
    const [head, done] = [this.of("HEAD")[0], this.of("DONE")[0]];
    if (!head) throw new Error("This replay is cut short: it has no head.");
    return {
      head: readJson(await this.payload(head)),
      chunks: this.of("FRAM").map(({ first, count }) => ({ first, count })),
      result: done ? readJson(await this.payload(done)) : null,
      live: false,
    };
  }
  async numbers(from: number): Promise<Block[]> {
    return Promise.all(this.of("NUMB").slice(from).map(async (part) => readBlock(await this.payload(part))));
  }
  async frames(chunk: number): Promise<Block> { return readBlock(await this.payload(this.of("FRAM")[chunk])); }
}

/** What `--export` put into the page: `{runs, metrics, roles}` and the replays as base64. */
export class Embedded implements Source {
  embedded = true;
  constructor(private data: any) {}
  async runs(): Promise<RunInfo[]> { return this.data.runs; }
  replay(run: string, name: string): ReplaySource {
    const text = document.getElementById(`replay:${run}/${name}`)?.textContent ?? "";
    return new EmbeddedReplay(run, name, Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
  }
  async metrics(run: string): Promise<any> { return this.data.metrics[run] ?? {}; }
  async results(): Promise<Results | null> { return null; } // a comparison has no replays, so it is never exported
  async roles(run: string): Promise<any | null> { return this.data.roles[run] ?? null; }
}

export function findSource(): Source {
  const data = document.getElementById("kinfolk-data");
  return data ? new Embedded(JSON.parse(data.textContent!)) : new Server();
}
