// The archive of a role evolution: a map of cells over behaviour descriptors, and the elite of the selected cell.

import { formatNumber, h, s } from "../dom";

interface Axis { name: string; low: number; high: number; cells: number }
interface Elite {
  cell: string; fresh_score: number; score: number; games: number; believed: boolean; fresh_measures: number[];
  team: Record<string, number>; programs: Record<string, string>;
}
interface Archive { metric: string; games: number; axes: Axis[]; teams: Elite[]; roles: Elite[] }

const CELL = 13; // pixels
const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

/** The colour of a share from 0 to 1. */
function viridis(share: number): string {
  const place = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1), low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return `rgb(${VIRIDIS[low].map((from, i) => Math.round(from + (place - low) * (VIRIDIS[low + 1][i] - from))).join(",")})`;
}

/** Every combination of places along some axes, in the order of the grid. */
function places(axes: Axis[]): number[][] {
  return axes.reduce<number[][]>((known, { cells }) => known.flatMap((place) => Array.from({ length: cells }, (_, i) => [...place, i])), [[]]);
}

export class ArchiveMap {
  readonly element = h("section.archive", { "aria-label": "Archive" });
  private archive: Archive | null = null;
  private kind: "teams" | "roles" = "teams";
  private selected: string | null = null;

  show(archive: Archive | null): void {
    this.archive = archive;
    this.draw();
  }

  private draw(): void {
    this.element.hidden = !this.archive;
    if (!this.archive) return;
    const { axes, metric, games } = this.archive, elites = this.archive[this.kind];
    const byCell = new Map(elites.map((elite) => [elite.cell, elite]));
    if (!this.selected || !byCell.has(this.selected)) this.selected = elites.reduce<Elite | null>((best, elite) => (!best || elite.fresh_score > best.fresh_score ? elite : best), null)?.cell ?? null;
    const scores = elites.map((elite) => elite.fresh_score), low = Math.min(...scores), high = Math.max(...scores);
    const switches = (["teams", "roles"] as const).map((kind) => h("button", { "aria-pressed": String(kind === this.kind), onclick: () => { this.kind = kind; this.draw(); } }, kind));
    const size = axes.reduce((product, { cells }) => product * cells, 1);
    const slices = places(axes.slice(2)).map((rest) => this.drawSlice(rest, byCell, low, high));
    this.element.replaceChildren(
      h("h2", {}, "Archive"),
      h("div.row", {}, ...switches, h("span.hint", {}, `${elites.length} of ${size} cells are filled; a ring marks elites that fell into another cell in ${games} fresh games`)),
      elites.length ? h("div.row.scale", {}, h("span", {}, `${metric} in fresh games: ${formatNumber(low)}`), h("i", { style: `background: linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(viridis).join(", ")})` }), h("span", {}, formatNumber(high))) : h("span"),
      h("div.row", {}, ...slices), this.detail(byCell.get(this.selected ?? "")));
  }

  /** Draw the first two axes, to the right and up, at one place of the others. */
  private drawSlice(rest: number[], byCell: Map<string, Elite>, low: number, high: number): HTMLElement {
    const [across, up, ...further] = this.archive!.axes, rows = up?.cells ?? 1;
    const svg = s("svg", { width: across.cells * CELL, height: rows * CELL, role: "grid", "aria-label": "Archive" });
    for (const place of places([across, ...(up ? [up] : [])])) {
      const cell = [...place, ...rest].join("-"), elite = byCell.get(cell);
      const select = () => { this.selected = cell; this.draw(); };
      const x = place[0] * CELL, y = (rows - 1 - (place[1] ?? 0)) * CELL;
      const box = s("rect", { x, y, width: CELL - 1, height: CELL - 1, fill: elite ? viridis(high > low ? (elite.fresh_score - low) / (high - low) : 1) : "#8883" });
      if (!elite) { svg.append(box); continue; }
      const ring = elite.believed ? [] : [s("circle", { cx: x + (CELL - 1) / 2, cy: y + (CELL - 1) / 2, r: 3, fill: "none", stroke: "#fff" })];
      svg.append(s("g", { class: `cell ${cell === this.selected ? "selected" : ""}`, "data-cell": cell, tabindex: 0, onclick: select, onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") select(); } },
        box, ...ring, s("title", {}, `${cell}: ${formatNumber(elite.fresh_score)}`)));
      if (cell === this.selected) box.setAttribute("stroke", "currentColor");
    }
    const width = (axis: Axis) => (axis.high - axis.low) / axis.cells;
    const caption = further.map((axis, i) => `${axis.name} ${formatNumber(axis.low + rest[i] * width(axis))} to ${formatNumber(axis.low + (rest[i] + 1) * width(axis))}`).join(", ");
    return h("figure", {}, svg, h("figcaption", {}, caption, h("br"), `→ ${across.name}${up ? `, ↑ ${up.name}` : ""}`));
  }

  private detail(elite: Elite | undefined): HTMLElement {
    if (!elite) return h("p.hint", {}, "No cell is filled.");
    const measures = this.archive!.axes.map(({ name }, i) => `${name} ${formatNumber(elite.fresh_measures[i])}`).join(", ");
    const members = Object.entries(elite.team).map(([name, count]) => h("li", {}, `${count} × ${name}: `, h("code", {}, elite.programs[name] ?? "")));
    return h("div.role-detail", { data: { cell: elite.cell } },
      h("h3", {}, `Cell ${elite.cell}`),
      h("p.state", {}, `${formatNumber(elite.fresh_score)} in fresh games, ${formatNumber(elite.score)} in ${elite.games} before; ${measures}${elite.believed ? "" : "; fell into another cell"}`),
      h("p", {}, "plays as ", h("code", {}, `run:RUN@${this.kind === "teams" ? "archive" : "role-archive"}/${elite.cell}`)),
      h("ul", {}, ...members));
  }
}
