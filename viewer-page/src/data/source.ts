// Where runs and replays come from: the server, or the page itself if it was exported as one file.

import { inflate, listRecords, readArrays, readJson, type Arrays, type RecordRef } from "./format";

export interface ReplayInfo { head: any; chunks: { first: number; count: number }[]; result: any | null; live: boolean }

/** What the list of runs shows of one; `pending` if the server has not read it yet. */
export interface RunRow {
  name: string; date: string; job: string; world: string; seed: number | null; headline: string; status: string; tags: string[];
  replays: { name: string; bytes: number }[]; roles: boolean; pending: boolean; problem: string; // why it cannot be read, or ""
}
export interface RunInfo extends RunRow { settings: any }

/** Mean, low, high and n; no interval where low is null. */
export type Estimate = (number | null)[];
export interface EstimateRow { name: string; group: string; estimate: Estimate | null; values: (number | null)[]; note: string }
export interface CurveLine { name: string; group: string; x: number[]; y: (number | null)[]; low: (number | null)[]; high: (number | null)[] }
/** A part of a run's page, as `kinfolk/viewer/reports/blocks.py` makes it. */
export type Block =
  | { type: "text"; title: string; lines: string[]; style: string }
  | { type: "table"; title: string; headings: string[]; rows: string[][] }
  | { type: "estimates"; title: string; x_label: string; rows: EstimateRow[]; zero: boolean }
  | { type: "curves"; title: string; x_label: string; note: string; lines: CurveLine[] }
  | { type: "matrix"; title: string; rows: string[]; columns: string[]; cells: (Estimate | null)[][]; note: string; replays: (string | null)[][] };

/** How a world draws something that it names: a group, an object, an owner or a line of a chart. */
export interface WorldSymbol { name: string; colour: string; shape: string; letter: string; label: string; size: number }

/** What a run's page shows of its events. */
export interface Report { blocks: Block[]; failures: Failures | null; family: Family | null; pages: string[]; symbols: WorldSymbol[] }

/** Failures of policies: their number, and a table of the first of them. */
export interface Failures { total: number; headings: string[]; rows: string[][] }

/** A net of an evolution; `died` is null while it lives. The last three are missing where they are unknown. */
export interface Net {
  uid: number; number: number; parents: number[]; group: string; born: number; died: number | null;
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
  runs(): Promise<RunRow[]>;
  run(name: string): Promise<RunInfo>;
  replay(run: string, name: string): ReplaySource;
  metrics(run: string): Promise<any>;
  report(run: string): Promise<Report>;
  roles(run: string): Promise<any | null>;
  pageHref(run: string, page: string): string | null; // of a page that a run holds; null if there is none to open
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
  async runs(): Promise<RunRow[]> { return (await request("api/runs")).json(); }
  async run(name: string): Promise<RunInfo> { return (await request(`api/runs/${encode(name)}`)).json(); }
  replay(run: string, name: string): ReplaySource { return new ServedReplay(run, name); }
  async metrics(run: string): Promise<any> { return (await request(`api/runs/${encode(run)}/metrics`)).json(); }
  async report(run: string): Promise<Report> { return (await request(`api/runs/${encode(run)}/report`)).json(); }
  async roles(run: string): Promise<any | null> { return (await request(`api/runs/${encode(run)}/roles`)).json(); }
  pageHref(run: string, page: string): string { return `api/runs/${encode(run)}/pages/${encode(page)}`; }
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

/** What `--export` put into the page: `{runs, metrics, reports, roles}` and the replays as base64. */
class EmbeddedSource implements Source {
  embedded = true;
  constructor(private data: any) {}
  async runs(): Promise<RunRow[]> { return this.data.runs; }
  async run(name: string): Promise<RunInfo> {
    const info = this.data.runs.find((run: RunInfo) => run.name === name);
    if (!info) throw new Error(`There is no run ${name} in this page.`);
    return info;
  }
  replay(run: string, name: string): ReplaySource {
    const text = document.getElementById(`replay:${run}/${name}`)?.textContent ?? "";
    return new EmbeddedReplay(run, name, Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
  }
  async metrics(run: string): Promise<any> { return this.data.metrics[run] ?? {}; }
  async report(run: string): Promise<Report> { return this.data.reports[run]; }
  async roles(run: string): Promise<any | null> { return this.data.roles[run] ?? null; }
  pageHref(): null { return null; } // the page of a tournament is a file of its own
}

export function findSource(): Source {
  const data = document.getElementById("kinfolk-data");
  return data ? new EmbeddedSource(JSON.parse(data.textContent!)) : new ServerSource();
}
