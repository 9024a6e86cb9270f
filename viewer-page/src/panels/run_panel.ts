// A run as a whole: its report, the result of the open episode, settings, and every number of its events.

import { addressHref } from "../address";
import type { Report, RunInfo } from "../data/source";
import { formatName, formatNumber, h } from "../dom";
import { NamedColours } from "../report/colours";
import { curveChart } from "../report/curves";
import { reportElement } from "../report/report";

const MAX_WATCH_LINKS = 6; // more replays are in a select

/** What is shown of a run; the head and the result are those of the replay, if one is open. */
export interface RunContent {
  info: RunInfo | null; report: Report | null; head: any | null; result: any | null;
  loadMetrics: () => Promise<any>; pageHref: (page: string) => string | null; open: (replay: string) => void;
}

export class RunPanel {
  readonly element = h("section.run", { "aria-label": "Run" });
  readonly more = h("div.more"); // settings and numbers, which stand below everything else
  private content: RunContent | null = null;
  private opened = new Set<string>(); // details that stay open when the panel is drawn again

  /** Draw again in the colours of the current theme. */
  refresh(): void { if (this.content) this.show(this.content); }

  show(content: RunContent): void {
    this.content = content;
    const { info, report, head, result } = content;
    this.element.replaceChildren(
      ...(info ? [head ? h("p", {}, h("a.to-page", { href: addressHref({ run: info.name, view: "page" }) }, "Page of this run")) : this.header(info)] : []),
      ...(report ? [reportElement(report, info?.name ?? "")] : []),
      result ? this.episode(result.result) : head ? h("p.hint", {}, "This episode has not ended yet.") : h("span"));
    this.more.replaceChildren(
      this.details("Settings", () => [settingsTable(info?.settings ?? head)], !report?.blocks.length),
      ...(info ? [this.details("All recorded numbers", () => [this.numbers()], false)] : []));
  }

  /** Name, kind, world, date, state and figure of the run, and links to its replays and pages. */
  private header({ name, job, world, date, status, seed, tags, headline, replays }: RunInfo): HTMLElement {
    const facts = [formatName(job), world, seed === null ? "" : `seed ${seed}`, date.slice(0, 16)].filter(Boolean);
    const links = replays.slice(0, MAX_WATCH_LINKS).map((replay) => h("a.button", { href: addressHref({ run: name, replay: replay.name }) }, `▶ ${replay.name}`));
    const select = h("select", { "aria-label": "Watch", onchange: () => this.content!.open(select.value) }, h("option", { value: "" }, `▶ all ${replays.length} replays…`), ...replays.map((replay) => h("option", { value: replay.name }, replay.name)));
    const pages = (this.content!.report?.pages ?? []).flatMap((page) => { const href = this.content!.pageHref(page); return href ? [h("a.button", { href, target: "_blank", rel: "noopener" }, page.replace(/\.html$/, " page"))] : []; });
    return h("header.run-head", {},
      h("h1", {}, name, ...tags.map((tag) => h("span.tag", {}, tag))),
      h("p.facts-line", {}, h(`span.status.${status}`, {}, status), ...facts.map((fact) => h("span", {}, fact))),
      headline && !this.hasVerdict() ? h("p.headline", {}, headline) : null,
      replays.length || pages.length ? h("div.row.watch", {}, ...links, replays.length > MAX_WATCH_LINKS ? select : null, ...pages) : null);
  }

  /** Whether the report begins with a verdict, which says what the headline would. */
  private hasVerdict(): boolean {
    const first = this.content!.report?.blocks[0];
    return first?.type === "text" && first.style === "verdict";
  }

  private episode({ ticks, returns, counters }: any): HTMLElement {
    return h("div", {}, h("h3", {}, "Result of the episode"), nameTable([
      ["ticks", formatNumber(ticks)],
      ...Object.entries<number>(returns).map(([slot, value]) => [`return of ${slot}`, formatNumber(value)] as [string, string]),
      ...Object.entries<number>(counters).filter(([, value]) => value).map(([name, value]) => [formatName(name), formatNumber(value)] as [string, string]),
    ]));
  }

  /** A part that is made when it is opened, and stays open while the run is followed. */
  private details(title: string, make: () => Node[], startsOpen: boolean): HTMLElement {
    const body = h("div");
    const element = h("details", { data: { details: title } }, h("summary", {}, title), body);
    const open = () => { if (element.open && !body.childNodes.length) body.append(...make()); };
    element.addEventListener("toggle", () => { element.open ? this.opened.add(title) : this.opened.delete(title); open(); });
    element.open = startsOpen || this.opened.has(title);
    open();
    return element;
  }

  /** A chart for every numeric field of every kind of event. */
  private numbers(): HTMLElement {
    const box = h("div.report", {}, h("p.hint", {}, "Reading…"));
    const colours = new NamedColours(this.content!.report?.symbols ?? []);
    void this.content!.loadMetrics().then((metrics) => {
      const charts = Object.entries<any>(metrics).filter(([, { step }]) => step.length > 1).flatMap(([kind, { step, fields }]) => {
        const groups = new Map<string, [string, (number | null)[]][]>();
        for (const [name, values] of Object.entries<(number | null)[]>(fields)) {
          const [field, ...key] = name.split(".");
          groups.set(field, [...(groups.get(field) ?? []), [key.join(".") || field, values]]);
        }
        return [...groups].map(([field, lines]) => h("section.block.curves", {}, h("h3", {}, `${formatName(kind)}: ${formatName(field)}`),
          curveChart({ type: "curves", title: "", x_label: "step", note: "", lines: lines.map(([name, y]) => ({ name: formatName(name), group: name, x: step, y, low: [], high: [] })) }, colours)));
      });
      box.replaceChildren(...(charts.length ? charts : [h("p.hint", {}, "This run has no series of numbers.")]));
    }, (error: Error) => box.replaceChildren(h("p.problem", {}, error.message)));
    return box;
  }
}

function nameTable(rows: [string, string][]): HTMLElement {
  return h("table", {}, h("tbody", {}, ...rows.map(([name, value]) => h("tr", {}, h("td", {}, name), h("td.value", {}, value)))));
}

/** The settings that are set, nested ones with dots between the names. */
function settingsTable(settings: any): HTMLElement {
  const rows: [string, string][] = [];
  const add = (prefix: string, value: any) => {
    if (value === null || value === "" || (typeof value === "object" && !Object.keys(value).length)) return;
    if (Array.isArray(value)) rows.push([prefix, value.map((item) => (typeof item === "object" ? JSON.stringify(item) : String(item))).join(", ")]);
    else if (typeof value === "object") for (const [name, inner] of Object.entries(value)) add(prefix ? `${prefix}.${name}` : name, inner);
    else rows.push([prefix, String(value)]);
  };
  add("", settings ?? {});
  return nameTable(rows.map(([name, value]) => [formatName(name), value]));
}
