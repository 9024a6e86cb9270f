// The family tree of nets: a line for each from its first generation to its last, below its first parent.

import { hierarchy } from "d3-hierarchy";
import type { Family, Net } from "../data/source";
import { h, s } from "../dom";
import { defaultGroupStyle } from "../map/world_style";

const MAX_DRAWN = 1500; // nets; more would be neither readable nor fast
const ROW_HEIGHT = 12, MIN_GENERATION_WIDTH = 10, MAX_WIDTH = 900, MARGIN = 10, LABEL_WIDTH = 60, AXIS_HEIGHT = 18; // pixels

interface Node { net: Net | null; children: Node[] }

export class NetTree {
  readonly element = h("section.lineage.nets", { "aria-label": "Family of nets", hidden: true });
  private nets = new Map<number, Net>();
  private family: Family | null = null;
  private run = "";
  private selected: number | null = null;
  private drawnWidth = 0;

  constructor() {
    new ResizeObserver(() => { // the tree fits its page
      if (this.family && !this.element.hidden && this.element.clientWidth && this.element.clientWidth !== this.drawnWidth) this.draw();
    }).observe(this.element);
  }

  /** Show the family of a run; null hides the panel, and another run's selection is dropped. */
  show(family: Family | null, run: string): void {
    if (run !== this.run) [this.run, this.selected] = [run, null];
    this.family = family;
    this.element.hidden = !family?.members.length;
    this.nets = new Map((family?.members ?? []).map((net) => [net.uid, net]));
    if (this.selected === null || !this.nets.has(this.selected)) this.selected = this.fittest();
    if (!this.element.hidden) this.draw();
  }

  /** Return the fittest net of the last generation; the fitness of one that inherits includes its ancestors'. */
  private fittest(): number | null {
    const total = (net: Net) => Number(net.fitness ?? -Infinity) + Number(net.inherited_fitness ?? 0);
    const living = [...this.nets.values()].filter((net) => net.died === null && net.fitness !== undefined);
    return living.reduce<Net | null>((best, net) => (best && total(best) >= total(net) ? best : net), null)?.uid ?? null;
  }

  /** Nets in the order of their rows: each followed by its descendants. */
  private rows(): Net[] {
    const nodes = new Map([...this.nets.values()].map((net) => [net.uid, { net, children: [] } as Node]));
    const root: Node = { net: null, children: [] };
    for (const node of nodes.values()) (nodes.get(node.net!.parents[0]) ?? root).children.push(node);
    const rows: Net[] = [];
    hierarchy(root).eachBefore(({ data }) => { if (data.net) rows.push(data.net); });
    return rows;
  }

  /** Uids of a net and of all its ancestors. */
  private line(uid: number | null): Set<number> {
    const line = new Set<number>(uid === null ? [] : [uid]);
    for (const each of line) for (const parent of this.nets.get(each)?.parents ?? []) line.add(parent); // grows while it is read
    return line;
  }

  private draw(): void {
    const { total, generations, members } = this.family!;
    const all = this.rows();
    const drawn = all.slice(0, MAX_DRAWN);
    const which = all.length > MAX_DRAWN ? `The first ${MAX_DRAWN} of ${all.length}` : `${all.length}`;
    const note = `${which} of ${total} nets that ever lived: the last generation and its ancestors, generations from left to right.`;
    const available = this.element.clientWidth || MAX_WIDTH;
    this.drawnWidth = this.element.clientWidth;
    const width = Math.max(Math.min(available, MAX_WIDTH), generations * MIN_GENERATION_WIDTH + LABEL_WIDTH);
    const x = (generation: number) => MARGIN + ((width - LABEL_WIDTH - MARGIN) * generation) / generations;
    const y = new Map(drawn.map((net, i) => [net.uid, 8 + i * ROW_HEIGHT]));
    const bottom = 16 + drawn.length * ROW_HEIGHT;
    const svg = s("svg", { width, height: bottom + AXIS_HEIGHT, role: "tree", "aria-label": "Family of nets" });
    const line = this.line(this.selected);
    const groups = [...new Set(members.map((net) => net.group))];
    for (const net of drawn) svg.append(this.drawNet(net, x, y, line, groups.indexOf(net.group)));
    const label = (generation: number, anchor: string, text: string) => s("text", { x: x(generation), y: bottom + 10, "text-anchor": anchor }, text);
    svg.append(label(0, "start", "generation 0"), label(generations, "end", String(generations - 1)));
    this.element.replaceChildren(h("h2", {}, "Family of nets"), h("p.hint", {}, note), this.detail(), h("div.tree", {}, svg));
  }

  private drawNet(net: Net, x: (generation: number) => number, y: Map<number, number>, line: Set<number>, group: number): SVGElement {
    const select = () => { this.selected = net.uid; this.draw(); };
    const [start, end, row] = [x(net.born), x(net.died ?? this.family!.generations), y.get(net.uid)!];
    const classes = ["agent", net.uid === this.selected ? "selected" : line.has(net.uid) ? "marked" : "faded"];
    const element = s("g", { class: classes.join(" "), "data-uid": net.uid, role: "treeitem", tabindex: 0, onclick: select, onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") select(); } });
    net.parents.forEach((parent, i) => {
      const above = y.get(parent);
      if (above !== undefined) element.append(s("path", { class: i ? "parent second" : "parent", d: `M${start},${above}V${row}` }));
    });
    element.append(
      s("line", { x1: start, x2: end, y1: row, y2: row, stroke: defaultGroupStyle(group).colour, "stroke-width": 4 }),
      s("rect", { class: "target", x: start - 3, y: row - ROW_HEIGHT / 2, width: end - start + 6, height: ROW_HEIGHT, fill: "transparent" }),
      s("text", { x: end + 4, y: row + 3.5 }, String(net.number)),
      s("title", {}, describe(net)));
    return element;
  }

  /** What the selected net had and inherited, with links to its parents. */
  private detail(): HTMLElement {
    const net = this.selected === null ? undefined : this.nets.get(this.selected);
    if (!net) return h("p.net-detail");
    const link = (uid: number) => h("button.link", { onclick: () => { this.selected = uid; this.draw(); } }, `net ${this.nets.get(uid)?.number ?? uid}`);
    return h("p.net-detail", {}, describe(net), net.parents.length ? ", from " : "",
      ...net.parents.flatMap((uid, i) => (i ? [" and ", link(uid)] : [link(uid)])));
  }
}

function describe({ number, group, born, died, fitness, inherited, inherited_fitness }: Net): string {
  return [
    `net ${number} of ${group}`, died === born + 1 ? `generation ${born}` : `generation ${born} to ${died === null ? "the last" : died - 1}`,
    fitness === undefined ? "centre of a strategy" : `fitness ${fitness}`,
    inherited ? `inherited ${inherited.split(" ").join(", ")}` : "",
    inherited_fitness === undefined ? "" : `fitness of its ancestors ${inherited_fitness}`,
  ].filter(Boolean).join(", ");
}
