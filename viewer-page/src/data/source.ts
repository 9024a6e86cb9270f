// Where runs and replays come from: the server, or the page itself if it was exported as one file.

import { inflate, listRecords, readArrays, readJson, type Arrays, type RecordRef } from "./format";

export interface ReplayInfo { head: any; chunks: { first: number; count: number }[]; result: any | null; live: boolean }

export interface RunInfo {
  name: string; job: string; status: string; world: string; settings: any;
  replays: { name: string; bytes: number }[]; roles: boolean; problem: string; // why it cannot be read, or ""
}

/** The result table and the verdict of a comparison. */
export interface Results { title: string; headings: string[]; rows: string[][]; verdict: string[] }

/** Failures of policies: their number, and a table of the first of them. */
export interface Failures { total: number; headings: string[]; rows: string[][] }

/** A net of an evolution; `died` is null while it lives. The last three are missing where they are unknown. */
export interface Net {
  uid: number; parents: number[]; group: string; born: number; died: number | null;
  fitness?: string; inherited?: string; inherited_fitness?: string;
}

/** The last generation of nets and its ancestors, parents first, of `total` that ever lived. */
export interface Family { total: number; generations: number; members: Net[] }

/** A replay that is read record by record. */
export interface ReplaySource {
  run: string;
  name: string;
  info(): Promise<ReplayInfo>;
  series(from: number): Promise<Arrays[]>;
  frames(chunk: number): Promise<Arrays>;
}

export interface Source {
  embedded: boolean;
  runs(): Promise<RunInfo[]>;
  replay(run: string, name: string): ReplaySource;
  metrics(run: string): Promise<any>;
  results(run: string): Promise<Results | null>;
  failures(run: string): Promise<Failures | null>;
  roles(run: string): Promise<any | null>;
  family(run: string): Promise<Family | null>;
}

/** Request a path of the server; an error answer becomes an exception with its message. */
async function request(path: string): Promise<Response> {
  const response = await fetch(path, { headers: { "x-kinfolk": "page" } });
  if (!response.ok) {
    const body = await response.json().catch(() => ({ error: `The server answered with status ${response.status}.` }));
    throw new Error(body.error);
  }
  return response;
}

const encode = encodeURIComponent;

class ServedReplay implements ReplaySource {
  constructor(readonly run: string, readonly name: string) {}
  private get path(): string { return `api/runs/${encode(this.run)}/replays/${encode(this.name)}`; }
  async info(): Promise<ReplayInfo> { return (await request(this.path)).json(); }
  async series(from: number): Promise<Arrays[]> {
    const body = new Uint8Array(await (await request(`${this.path}/series?from=${from}`)).arrayBuffer());
    const view = new DataView(body.buffer);
    const payloads: Uint8Array[] = [];
    for (let offset = 0; offset < body.length; ) {
      const length = offset + 4 <= body.length ? view.getUint32(offset, true) : Infinity;
      if (offset + 4 + length > body.length) throw new Error("The server's answer is cut short.");
      payloads.push(body.subarray(offset + 4, offset + 4 + length));
      offset += 4 + length;
    }
    return Promise.all(payloads.map(async (payload) => readArrays(await inflate(payload))));
  }
  async frames(chunk: number): Promise<Arrays> {
    const response = await request(`${this.path}/frames/${chunk}`);
    return readArrays(await inflate(new Uint8Array(await response.arrayBuffer())));
  }
}

class ServerSource implements Source {
  embedded = false;
  async runs(): Promise<RunInfo[]> { return (await request("api/runs")).json(); }
  replay(run: string, name: string): ReplaySource { return new ServedReplay(run, name); }
  async metrics(run: string): Promise<any> { return (await request(`api/runs/${encode(run)}/metrics`)).json(); }
  async results(run: string): Promise<Results | null> { return (await request(`api/runs/${encode(run)}/results`)).json(); }
  async failures(run: string): Promise<Failures | null> { return (await request(`api/runs/${encode(run)}/failures`)).json(); }
  async roles(run: string): Promise<any | null> { return (await request(`api/runs/${encode(run)}/roles`)).json(); }
  async family(run: string): Promise<Family | null> { return (await request(`api/runs/${encode(run)}/family`)).json(); }
}

class EmbeddedReplay implements ReplaySource {
  private records: RecordRef[];
  constructor(readonly run: string, readonly name: string, private file: Uint8Array) { this.records = listRecords(file); }
  private payload({ offset, length }: RecordRef): Promise<Uint8Array> { return inflate(this.file.subarray(offset, offset + length)); }
  private ofKind(kind: string): RecordRef[] { return this.records.filter((record) => record.kind === kind); }
  async info(): Promise<ReplayInfo> {
    const [head, done] = [this.ofKind("HEAD")[0], this.ofKind("DONE")[0]];
    if (!head) throw new Error("This replay is cut short: it has no head.");
    return {
      head: readJson(await this.payload(head)),
      chunks: this.ofKind("FRAM").map(({ first, count }) => ({ first, count })),
      result: done ? readJson(await this.payload(done)) : null,
      live: false,
    };
  }
  async series(from: number): Promise<Arrays[]> {
    return Promise.all(this.ofKind("SERI").slice(from).map(async (record) => readArrays(await this.payload(record))));
  }
  async frames(chunk: number): Promise<Arrays> { return readArrays(await this.payload(this.ofKind("FRAM")[chunk])); }
}

/** What `--export` put into the page: `{runs, metrics, results, failures, roles}` and the replays as base64. */
class EmbeddedSource implements Source {
  embedded = true;
  constructor(private data: any) {}
  async runs(): Promise<RunInfo[]> { return this.data.runs; }
  replay(run: string, name: string): ReplaySource {
    const text = document.getElementById(`replay:${run}/${name}`)?.textContent ?? "";
    return new EmbeddedReplay(run, name, Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
  }
  async metrics(run: string): Promise<any> { return this.data.metrics[run] ?? {}; }
  async results(run: string): Promise<Results | null> { return this.data.results[run] ?? null; }
  async failures(run: string): Promise<Failures | null> { return this.data.failures[run] ?? null; }
  async roles(run: string): Promise<any | null> { return this.data.roles[run] ?? null; }
  async family(): Promise<Family | null> { return null; } // pages are exported of replays, and these runs have none
}

export function findSource(): Source {
  const data = document.getElementById("kinfolk-data");
  return data ? new EmbeddedSource(JSON.parse(data.textContent!)) : new ServerSource();
}
