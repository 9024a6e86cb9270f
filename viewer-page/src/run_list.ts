// The list of all runs as a table that is sorted, searched and filtered; one is opened or two are compared.

import type { Address } from "./address";
import { addressHref } from "./address";
import type { RunRow } from "./data/source";
import { formatInteger, formatName, h } from "./dom";

type Key = "name" | "date" | "job" | "world" | "headline" | "status";
const COLUMNS: [Key, string][] = [["name", "run"], ["date", "date"], ["job", "kind"], ["world", "world"], ["headline", "result (95 % interval)"], ["status", "state"]];
const NEWEST_FIRST = "-date"; // a sort order is the name of a column, with a minus for the reverse
const ROWS_AT_ONCE = 80; // further rows are added when the end of the table is scrolled into view
const MAX_CHIPS = 8; // values of a column that are offered as filters

/** The words of a run that a search looks at. */
function searchText(run: RunRow): string {
  return [run.name, formatName(run.job), run.job, run.world, run.headline, run.status, run.date, ...run.tags.map((tag) => `#${tag}`)].join(" ").toLowerCase();
}

/** The value of a run by which a column is sorted: for results, the first number in it. */
function sortValue(run: RunRow, key: Key): string | number {
  if (key !== "headline") return run[key].toLowerCase();
  const number = /-?\d[\d,]*(\.\d+)?/.exec(run.headline.replace(/^.*?(?=\s-?\d)/, ""));
  return number ? Number(number[0].replace(/,/g, "")) : -Infinity;
}

export class RunList {
  readonly element = h("main.runs");
  private rows: RunRow[] = [];
  private texts = new Map<string, string>();
  private checked: string[] = [];
  private sort = NEWEST_FIRST;
  private search = h("input.search", { type: "search", placeholder: "search runs and #tags", "aria-label": "Search runs", title: "All words must occur (/)", oninput: () => this.changed() });
  private compareButton = h("button.compare", { disabled: true, title: "Watch the first replays of two runs side by side", onclick: () => this.compare() }, "compare two");
  private count = h("span.hint");
  private chips = h("div.chips", { role: "group", "aria-label": "Filters" });
  private head = h("tr");
  private body = h("tbody");
  private table = h("table.list", {}, h("thead", {}, this.head), this.body);
  private end = h("div.end");
  private drawn: RunRow[] = []; // those that match, in order
  private nDrawn = 0;
  private rowsKey = ""; // of the rows that are shown

  /** `open` shows an address; `remember` stores the search and the order in the current one. */
  constructor(private open: (address: Partial<Address>) => void, private remember: (search: string, sort: string) => void) {
    this.element.append(h("div.row.list-head", {}, h("h1", {}, "Runs"), this.count, h("span.space"), this.search, this.compareButton), this.chips, this.table, this.end);
    new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) this.addRows(); }, { root: this.element, rootMargin: "600px" }).observe(this.end);
    document.addEventListener("keydown", (event) => {
      const isHere = event.target === document.body || this.element.contains(event.target as Node);
      if (isHere && this.element.isConnected && !document.querySelector("dialog[open]")) this.moveFocus(event);
    });
  }

  /** Show the runs with the search and order of an address. */
  show(rows: RunRow[], { search, sort }: Address): void {
    this.checked = [];
    this.compareButton.disabled = true;
    this.search.value = search;
    this.sort = COLUMNS.some(([key]) => key === sort.replace("-", "")) ? sort : NEWEST_FIRST;
    [this.rowsKey, this.nDrawn] = ["", 0];
    this.update(rows);
    this.element.scrollTop = 0;
  }

  /** Show other rows with the same search and order, where the reader is. */
  update(rows: RunRow[]): void {
    const key = JSON.stringify(rows);
    if (key === this.rowsKey) return;
    [this.rowsKey, this.rows] = [key, rows];
    this.texts = new Map(rows.map((run) => [run.name, searchText(run)]));
    const { scrollTop } = this.element;
    const focused = document.activeElement?.closest<HTMLElement>("tr[data-run]")?.dataset.run;
    this.draw(this.nDrawn);
    this.element.scrollTop = scrollTop;
    if (focused) this.body.querySelector<HTMLElement>(`tr[data-run="${CSS.escape(focused)}"] a.name`)?.focus({ preventScroll: true });
  }

  focusSearch(): void { this.search.focus(); }

  private changed(): void {
    this.remember(this.search.value, this.sort === NEWEST_FIRST ? "" : this.sort);
    this.draw();
  }

  private words(): string[] { return this.search.value.toLowerCase().split(/\s+/).filter(Boolean); }

  /** Draw the rows that match, at least as many as `count` of them. */
  private draw(count = 0): void {
    const words = this.words();
    const focused = (document.activeElement as HTMLElement | null)?.dataset.control; // a heading or a filter, which is drawn again
    const [key, direction] = [this.sort.replace("-", "") as Key, this.sort.startsWith("-") ? -1 : 1];
    const matching = this.rows.filter((run) => words.every((word) => this.texts.get(run.name)!.includes(word)));
    const keyed = matching.map((run) => [sortValue(run, key), run] as const);
    this.drawn = keyed.sort(([a], [b]) => (a < b ? -direction : a > b ? direction : 0)).map(([, run]) => run);
    this.head.replaceChildren(h("th", {}), ...COLUMNS.map(([column, label]) => this.heading(column, label)), h("th", {}, "replays"));
    const all = formatInteger(this.rows.length);
    const pending = this.rows.filter((run) => run.pending).length;
    this.count.textContent = (words.length ? `${formatInteger(matching.length)} of ${all}` : all) + (pending ? `, reading ${formatInteger(pending)}…` : "");
    this.drawChips(words);
    this.table.hidden = !this.drawn.length;
    this.body.replaceChildren();
    this.nDrawn = 0;
    do this.addRows(); while (this.nDrawn < Math.min(count, this.drawn.length));
    if (!this.drawn.length) this.end.replaceChildren(h("p.hint", {}, this.rows.length ? "No run matches. Escape clears the search." : "There are no runs here yet. `kinfolk eval --world savanna --replay 1` makes one that can be watched."));
    else this.end.replaceChildren();
    if (focused) this.element.querySelector<HTMLElement>(`[data-control="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  /** Add the next rows that match; most of a long list is never looked at. */
  private addRows(): void {
    const next = this.drawn.slice(this.nDrawn, this.nDrawn + ROWS_AT_ONCE);
    this.nDrawn += next.length;
    this.body.append(...next.map((run) => this.row(run)));
  }

  private heading(key: Key, label: string): HTMLElement {
    const current = this.sort.replace("-", "") === key;
    const descending = current ? this.sort.startsWith("-") : key === "date" || key === "headline";
    const next = current ? !descending : descending;
    const sort = () => { this.sort = `${next ? "-" : ""}${key}`; this.changed(); };
    const order = !current ? "none" : descending ? "descending" : "ascending";
    return h(`th.by-${key}`, { "aria-sort": order }, h("button.sort", { data: { control: `sort ${key}` }, onclick: sort, title: `Sort by ${label}` }, label, current ? (descending ? " ↓" : " ↑") : ""));
  }

  /** Buttons that add a kind, world, state or tag to the search, or remove it again. */
  private drawChips(words: string[]): void {
    const counts = new Map<string, number>();
    const add = (word: string) => { if (word) counts.set(word, (counts.get(word) ?? 0) + 1); };
    const groups: ((run: RunRow) => string[])[] = [(run) => [run.job], (run) => [run.world], (run) => [run.status], (run) => run.tags.map((tag) => `#${tag}`)];
    const chips = groups.flatMap((values) => {
      counts.clear();
      for (const run of this.rows) values(run).forEach(add);
      const isUseful = counts.size > 1 || [...counts.keys()].some((word) => word.startsWith("#") || words.includes(word.toLowerCase()));
      return isUseful ? [...counts].sort((a, b) => b[1] - a[1]).slice(0, MAX_CHIPS).map(([word, count]) => this.chip(word, count, words)) : [];
    });
    this.chips.replaceChildren(...chips);
    this.chips.hidden = !chips.length;
  }

  private chip(word: string, count: number, words: string[]): HTMLElement {
    const isOn = words.includes(word.toLowerCase());
    const toggle = () => {
      const others = this.search.value.split(/\s+/).filter((other) => other && other.toLowerCase() !== word.toLowerCase());
      this.search.value = [...others, ...(isOn ? [] : [word])].join(" ");
      this.changed();
    };
    return h("button.chip", { data: { control: word }, "aria-pressed": String(isOn), onclick: toggle }, formatName(word), h("small", {}, formatInteger(count)));
  }

  private row(run: RunRow): HTMLElement {
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: !run.replays.length, checked: this.checked.includes(run.name) });
    box.addEventListener("change", () => {
      this.checked = box.checked ? [...this.checked, run.name] : this.checked.filter((name) => name !== run.name);
      this.compareButton.disabled = this.checked.length !== 2;
    });
    const data = { run: run.name };
    const tags = run.tags.map((tag) => h("span.tag", {}, tag));
    if (run.problem) return h("tr.damaged", { data }, h("td.box", {}, box), h("td.name", {}, run.name, ...tags), h("td.date", {}, run.date.slice(0, 16)), h("td.reason", { colSpan: 3 }, run.problem), h("td.state", {}, h("span.status.damaged", {}, "damaged")), h("td.watch", {}));
    const count = run.replays.length === 1 ? "1 replay" : `${run.replays.length} replays`;
    const watch = run.replays.length ? h("a.watch", { href: addressHref({ run: run.name, replay: run.replays[0].name }), title: `Watch ${count}`, "aria-label": `Watch ${run.name}` }, `▶ ${run.replays.length}`) : null;
    return h("tr", { data },
      h("td.box", {}, box),
      h("td.name", {}, h("a.name", { href: addressHref({ run: run.name, view: "page" }) }, run.name), ...tags),
      h("td.date", {}, run.date.slice(0, 16)),
      h("td.job", {}, formatName(run.job)),
      h("td.world", {}, run.world),
      h("td.headline", { title: run.headline }, h("span", {}, run.pending ? "…" : run.headline)),
      h("td.state", {}, run.status ? h(`span.status.${run.status}`, {}, run.status) : ""),
      h("td.watch", {}, watch));
  }

  /** Arrow keys go from run to run; Escape in the search clears it. */
  private moveFocus(event: KeyboardEvent): void {
    if (event.key === "Escape" && event.target === this.search) {
      this.search.value = "";
      this.changed();
    }
    const direction = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!direction) return;
    const links = [...this.body.querySelectorAll<HTMLElement>("a.name")];
    const index = links.indexOf(document.activeElement as HTMLElement);
    const target = links[index + direction];
    event.preventDefault();
    (target ?? (direction < 0 ? this.search : links.at(-1)))?.focus();
  }

  private compare(): void {
    const [a, b] = this.checked.map((name) => this.rows.find((run) => run.name === name)!);
    this.open({ run: a.name, replay: a.replays[0].name, other: b.name, otherReplay: b.replays[0].name });
  }
}
