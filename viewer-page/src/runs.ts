// The list of runs: what there is to look at.

import { grouped, h, plain } from "./dom";
import type { RunInfo } from "./source";

export class RunList {
  readonly element = h("main.runs");
  private chosen: string[] = [];

  constructor(private open: (run: string, replay?: string, other?: [string, string]) => void) {}

  show(runs: RunInfo[]): void {
    this.chosen = [];
    const compare = h("button.compare", { disabled: true, onclick: () => this.compare(runs) }, "compare two");
    const rows = runs.map((run) => this.row(run, compare));
    this.element.replaceChildren(
      h("div.row", {}, h("h1", {}, "Runs"), h("span.space"), compare),
      runs.length ? h("ul.list", {}, ...rows) : h("p.hint", {}, "There are no runs here yet. `kinfolk eval --world savanna --replay 1` makes one that can be watched."));
  }

  private row(run: RunInfo, compare: HTMLButtonElement): HTMLElement {
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: !run.replays.length });
    box.addEventListener("change", () => {
      this.chosen = box.checked ? [...this.chosen, run.name] : this.chosen.filter((name) => name !== run.name);
      compare.disabled = this.chosen.length !== 2;
    });
    const first = run.replays[0]?.name;
    const size = run.replays.reduce((sum, one) => sum + one.bytes, 0);
    const games = run.replays.length === 1 ? "1 replay" : `${run.replays.length} replays`;
    if (run.problem) return h("li.damaged", { data: { run: run.name } }, box, h("span.name", {}, run.name), h("span.status.damaged", {}, "damaged"), h("span.why", {}, run.problem));
    return h("li", { data: { run: run.name } }, box,
      h("button.name", { onclick: () => this.open(run.name, first) }, run.name),
      h(`span.status.${run.status}`, {}, run.status),
      h("span.what", {}, `${plain(run.job)}${run.world ? ` in ${run.world}` : ""}`),
      h("span.size", {}, run.replays.length ? `${games}, ${grouped(Math.max(1, Math.round(size / 1024)))} KB` : "no replay"));
  }

  private compare(runs: RunInfo[]): void {
    const [a, b] = this.chosen.map((name) => runs.find((run) => run.name === name)!);
    this.open(a.name, a.replays[0].name, [b.name, b.replays[0].name]);
  }
}
