// What a run as a whole came to: measures over its steps, how its game ended, what was asked.

import { lineChart } from "./charts";
import { h, plain, short } from "./dom";
import type { Results } from "./source";

const MOST_CHARTS = 8;
/** Numbers of one kind are drawn together. */
const FAMILIES: [string, RegExp][] = [
  ["fitness", /^(best|mean|median|worst|seeded|champion|fitness)$/],
  ["fitness of roles", /^roles_(best|mean|spread)$/],
  ["share of games won", /^(won|win_rate|beats_\w+)$/],
  ["returns", /^returns\./],
  ["reward", /^reward/],
];

/** What is shown of a run; the head and the result are those of the replay, if one is open. */
export interface Shown { metrics: any; results: Results | null; head: any | null; result: any | null; about: any }

export class RunPanel {
  readonly element = h("section.run", { "aria-label": "Run" });
  private shown: Shown | null = null;

  /** Draw anew in the colours of now. */
  renew(): void { if (this.shown) this.show(this.shown); }

  show(shown: Shown): void {
    this.shown = shown;
    const { metrics, results, head, result, about } = shown;
    const charts = Object.entries<any>(metrics).filter(([, table]) => table.step.length > 1).flatMap(([kind, table]) => this.charts(kind, table));
    const ended = result?.result;
    const settings = about ? Object.entries<any>(about).filter(([, value]) => value !== null && JSON.stringify(value) !== "{}") : [];
    this.element.replaceChildren(
      ...(results ? this.results(results) : []),
      ...charts,
      ended ? h("div", {}, h("h3", {}, "How the game ended"), table([
        ["ticks", short(ended.ticks)],
        ...Object.entries<number>(ended.returns).map(([slot, value]) => [`return of ${slot}`, short(value)] as [string, string]),
        ...Object.entries<number>(ended.counters).filter(([, value]) => value).map(([name, value]) => [plain(name), short(value)] as [string, string]),
      ])) : h("p.hint", {}, head ? "This game has not ended." : ""),
      h("div", {}, h("h3", {}, "Settings"), table(settings.map(([name, value]) => [plain(name), typeof value === "object" ? JSON.stringify(value) : String(value)]))));
  }

  /** Who was compared, what each came to, and what follows from it. */
  private results({ title, headings, rows, verdict }: Results): HTMLElement[] {
    return [
      h("h3", {}, title),
      h("table.results", {}, h("thead", {}, h("tr", {}, ...headings.map((name) => h("th", {}, name)))),
        h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell)))))),
      ...verdict.map((sentence) => h("p.verdict", {}, sentence)),
    ];
  }

  /** One chart per family of numbers that belong together; what is in none has its own. */
  private charts(kind: string, table: any): HTMLElement[] {
    const families = new Map<string, Record<string, (number | null)[]>>();
    for (const [name, values] of Object.entries<(number | null)[]>(table.fields)) {
      const known = FAMILIES.find(([, pattern]) => pattern.test(name));
      const family = known ? known[0] : name.includes(".") ? name.split(".")[0] : name;
      const line = name.includes(".") ? name.slice(name.indexOf(".") + 1) : name;
      families.set(family, { ...(families.get(family) ?? {}), [line]: values });
    }
    const rank = (name: string) => (FAMILIES.findIndex(([family]) => family === name) + 1 || 99);
    return [...families].sort(([a], [b]) => rank(a) - rank(b)).slice(0, MOST_CHARTS).map(([family, lines]) => lineChart(`${plain(kind)}: ${plain(family)}`, table.step, lines));
  }
}

function table(rows: [string, string][]): HTMLElement {
  return h("table", {}, h("tbody", {}, ...rows.map(([name, value]) => h("tr", {}, h("td", {}, name), h("td.value", {}, value)))));
}
