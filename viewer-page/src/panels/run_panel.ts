// A run as a whole: results, failures of policies, metrics over its steps, the result of the open episode, and settings.

import type { Failures, Results } from "../data/source";
import { formatName, formatNumber, h } from "../dom";
import { lineChart } from "./charts";

const MAX_CHARTS = 8; // per kind of event
/** Metrics that share a chart: its title, and the names of their fields. */
const CHART_GROUPS: [string, RegExp][] = [
  ["fitness", /^(best|mean|median|worst|seeded_mean)$/],
  ["fitness of roles", /^roles_(best|mean|std)$/],
  ["share of games won", /^win_rate(_vs_\w+)?$/],
  ["returns", /^returns\./],
  ["reward", /^reward/],
];

/** What is shown of a run; the head and the result are those of the replay, if one is open. */
export interface RunContent { metrics: any; results: Results | null; failures: Failures | null; head: any | null; result: any | null; settings: any }

export class RunPanel {
  readonly element = h("section.run", { "aria-label": "Run" });
  private content: RunContent | null = null;

  /** Draw again in the colours of the current theme. */
  refresh(): void { if (this.content) this.show(this.content); }

  show(content: RunContent): void {
    this.content = content;
    const { metrics, results, failures, head, result, settings } = content;
    const charts = Object.entries<any>(metrics).filter(([, table]) => table.step.length > 1).flatMap(([kind, table]) => this.charts(kind, table));
    const rows = settings ? Object.entries<any>(settings).filter(([, value]) => value !== null && JSON.stringify(value) !== "{}") : [];
    this.element.replaceChildren(
      ...(results ? this.results(results) : []),
      ...(failures?.total ? this.failures(failures) : []),
      ...charts,
      result ? this.episode(result.result) : h("p.hint", {}, head ? "This episode has not ended yet." : ""),
      h("div", {}, h("h3", {}, "Settings"), table(rows.map(([name, value]) => [formatName(name), typeof value === "object" ? JSON.stringify(value) : String(value)]))));
  }

  private episode({ ticks, returns, counters }: any): HTMLElement {
    return h("div", {}, h("h3", {}, "Result of the episode"), table([
      ["ticks", formatNumber(ticks)],
      ...Object.entries<number>(returns).map(([slot, value]) => [`return of ${slot}`, formatNumber(value)] as [string, string]),
      ...Object.entries<number>(counters).filter(([, value]) => value).map(([name, value]) => [formatName(name), formatNumber(value)] as [string, string]),
    ]));
  }

  private results({ title, headings, rows, verdict }: Results): HTMLElement[] {
    return [
      h("h3", {}, title),
      h("table.results", {}, h("thead", {}, h("tr", {}, ...headings.map((name) => h("th", {}, name)))),
        h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell)))))),
      ...verdict.map((sentence) => h("p.verdict", {}, sentence)),
    ];
  }

  private failures({ total, headings, rows }: Failures): HTMLElement[] {
    const title = total === 1 ? "1 failure of a policy" : `${formatNumber(total)} failures of policies`;
    const place = (row: string[]) => row.slice(1, -2).map((value, i) => `${headings[i + 1]} ${value}`).join(", ");
    const entries = rows.map((row) => h("li", {}, h("b", {}, row[0]), h("div.hint", {}, place(row)), h("div.event", {}, row.at(-2)!), h("code.where", {}, row.at(-1)!)));
    return [h("h3", {}, rows.length < total ? `${title}; the first ${rows.length}:` : title), h("ul.failures", {}, ...entries)];
  }

  /** The charts of one kind of event: one per group of metrics, and one for each metric in no group. */
  private charts(kind: string, table: any): HTMLElement[] {
    const charts = new Map<string, Record<string, (number | null)[]>>();
    for (const [name, values] of Object.entries<(number | null)[]>(table.fields)) {
      const [field, ...key] = name.split(".");
      const title = CHART_GROUPS.find(([, pattern]) => pattern.test(name))?.[0] ?? field;
      charts.set(title, { ...(charts.get(title) ?? {}), [key.length ? key.join(".") : field]: values });
    }
    const rank = (title: string) => (CHART_GROUPS.findIndex(([group]) => group === title) + 1 || CHART_GROUPS.length + 1);
    return [...charts].sort(([a], [b]) => rank(a) - rank(b)).slice(0, MAX_CHARTS).map(([title, lines]) => lineChart(`${formatName(kind)}: ${formatName(title)}`, table.step, lines));
  }
}

function table(rows: [string, string][]): HTMLElement {
  return h("table", {}, h("tbody", {}, ...rows.map(([name, value]) => h("tr", {}, h("td", {}, name), h("td.value", {}, value)))));
}
