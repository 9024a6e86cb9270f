// The list of all runs, of which one is opened or two are compared.

import type { RunInfo } from "./data/source";
import { formatInteger, formatName, h } from "./dom";

export class RunList {
  readonly element = h("main.runs");
  private checked: string[] = [];

  constructor(private open: (run: string, replay?: string, other?: [string, string]) => void) {}

  show(runs: RunInfo[]): void {
    this.checked = [];
    const compare = h("button.compare", { disabled: true, onclick: () => this.compare(runs) }, "compare two");
    const rows = runs.map((run) => this.row(run, compare));
    this.element.replaceChildren(
      h("div.row", {}, h("h1", {}, "Runs"), h("span.space"), compare),
      runs.length ? h("ul.list", {}, ...rows) : h("p.hint", {}, "There are no runs here yet. `kinfolk eval --world savanna --replay 1` makes one that can be watched."));
  }

  private row(run: RunInfo, compare: HTMLButtonElement): HTMLElement {
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: !run.replays.length });
    box.addEventListener("change", () => {
      this.checked = box.checked ? [...this.checked, run.name] : this.checked.filter((name) => name !== run.name);
      compare.disabled = this.checked.length !== 2;
    });
    if (run.problem) return h("li.damaged", { data: { run: run.name } }, box, h("span.name", {}, run.name), h("span.status.damaged", {}, "damaged"), h("span.reason", {}, run.problem));
    const bytes = run.replays.reduce((sum, replay) => sum + replay.bytes, 0);
    const count = run.replays.length === 1 ? "1 replay" : `${run.replays.length} replays`;
    return h("li", { data: { run: run.name } }, box,
      h("button.name", { onclick: () => this.open(run.name, run.replays[0]?.name) }, run.name),
      h(`span.status.${run.status}`, {}, run.status),
      h("span.job", {}, `${formatName(run.job)}${run.world ? ` in ${run.world}` : ""}`),
      h("span.size", {}, run.replays.length ? `${count}, ${formatInteger(Math.max(1, Math.round(bytes / 1024)))} KB` : "no replay"));
  }

  private compare(runs: RunInfo[]): void {
    const [a, b] = this.checked.map((name) => runs.find((run) => run.name === name)!);
    this.open(a.name, a.replays[0].name, [b.name, b.replays[0].name]);
  }
}
