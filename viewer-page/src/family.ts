// The lineage tree: a line for each life from birth to death, below its first parent.

import { hierarchy, type HierarchyNode } from "d3-hierarchy";
import { h, plain, s } from "./dom";
import type { Life } from "./lives";
import { groupStyle } from "./palette";
import type { Player } from "./player";

const MOST = 1500; // lives drawn at once; more would be neither readable nor quick

export class FamilyTree {
  readonly element = h("section.family", { "aria-label": "Lineage" });
  private chooser = h("select", { "aria-label": "Founder" });
  private tree = h("div.tree");
  private note = h("p.hint");
  private hand: SVGElement | null = null;
  private scale: (tick: number) => number = () => 0;
  private founder: number | null = null;
  private known = "";
  private drawn = "";

  constructor(private player: Player) {
    this.element.append(h("div.row", {}, h("label", {}, "family of ", this.chooser)), this.note, this.tree);
    this.chooser.addEventListener("change", () => { this.founder = Number(this.chooser.value); this.renew(); });
    player.onFrame.on(() => this.move());
    player.onSelect.on(() => this.renew());
    new ResizeObserver(() => this.renew()).observe(this.tree);
  }

  renew(): void {
    if (!this.element.isConnected || !this.player.views.length) return;
    const { lives, head, label } = this.player.main.replay;
    if (this.known !== `${label} ${lives.all.size}`) {
      if (!this.known.startsWith(`${label} `)) this.founder = null;
      this.known = `${label} ${lives.all.size}`;
      const sized = lives.founders().map((life) => [life, lives.descendants(life.uid).size] as const).sort((a, b) => b[1] - a[1]);
      this.chooser.replaceChildren(...sized.map(([life, size]) => h("option", { value: life.uid }, `${plain(head.groups[life.group])} ${life.uid}: ${size} descendants`)));
      this.founder ??= sized[0]?.[0].uid ?? null;
    }
    const { selected } = this.player;
    const related = this.founder !== null && (this.founder === selected || lives.descendants(this.founder).has(selected ?? -1));
    if (selected !== null && lives.get(selected) && !related) this.founder = lives.founderOf(selected);
    if (this.founder === null) return;
    this.chooser.value = String(this.founder);
    this.draw();
    this.move();
  }

  private nodes(): HierarchyNode<Life>[] {
    const { lives } = this.player.main.replay;
    const placed = new Set<number>(); // a child of two parents of the family hangs below one of them
    const own = (life: Life) => life.children.filter((uid) => !placed.has(uid) && placed.add(uid)).map((uid) => lives.get(uid)!);
    const root = hierarchy(lives.get(this.founder!)!, own);
    const found: HierarchyNode<Life>[] = [];
    root.eachBefore((node) => found.push(node));
    return found;
  }

  private draw(): void {
    const { player } = this;
    const { replay } = player.main;
    const width = this.tree.clientWidth;
    const key = `${document.documentElement.dataset.theme} ${this.founder} ${this.known} ${width} ${player.selected} ${player.marked?.size} ${replay.frames}`;
    if (key === this.drawn || !width) return;
    this.drawn = key;
    const all = this.nodes();
    const nodes = all.slice(0, MOST);
    this.note.textContent = all.length > MOST ? `The first ${MOST} of ${all.length} lives are drawn. Click a life to mark its descendants.`
      : `${all.length === 1 ? "One life" : `${all.length} lives`}, time from left to right. Click a life to mark its descendants.`;
    const step = nodes.length < 60 ? 16 : nodes.length < 300 ? 9 : 5;
    const last = replay.ticks[replay.frames - 1] || 1;
    this.scale = (tick) => 8 + ((width - 44) * tick) / last;
    const row = new Map(nodes.map((node, i) => [node.data.uid, 8 + i * step]));
    const svg = s("svg", { width, height: 16 + nodes.length * step, role: "tree", "aria-label": "Lives" });
    for (const node of nodes) svg.append(this.life(node, row, step, last));
    this.hand = s("line", { class: "hand", y1: 0, y2: 16 + nodes.length * step });
    svg.append(this.hand);
    this.tree.replaceChildren(svg);
  }

  private life(node: HierarchyNode<Life>, row: Map<number, number>, step: number, last: number): SVGElement {
    const { player } = this;
    const life = node.data;
    const y = row.get(life.uid)!;
    const [from, to] = [this.scale(life.born), this.scale(life.died ?? last)];
    const { colour } = groupStyle(player.main.replay.head.groups[life.group], life.group);
    const marked = player.marked?.has(life.uid) ?? false;
    const classes = ["life", marked ? "marked" : "", player.selected === life.uid ? "selected" : "", player.marked && !marked && player.selected !== life.uid ? "faded" : ""];
    const group = s("g", { class: classes.join(" "), "data-uid": life.uid, role: "treeitem", tabindex: 0, onclick: () => this.choose(life.uid), onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") this.choose(life.uid); } });
    for (const parent of life.parents) {
      const above = row.get(parent);
      if (above !== undefined) group.append(s("path", { class: parent === life.parents[0] ? "kin" : "kin second", d: `M${from},${above}V${y}` }));
    }
    group.append(
      s("line", { x1: from, x2: Math.max(from + 1.5, to), y1: y, y2: y, stroke: colour, "stroke-width": Math.max(2, step * 0.38) }),
      s("rect", { class: "touch", x: from - 3, y: y - step / 2, width: to - from + 6, height: step, fill: "transparent" }),
      s("title", {}, `life ${life.uid}, tick ${life.born} to ${life.died ?? "now"}${life.cause ? `, ${plain(life.cause)}` : ""}`));
    if (step > 10) group.append(s("text", { x: to + 4, y: y + 3.5 }, String(life.uid)));
    return group;
  }

  private choose(uid: number): void {
    const { player } = this;
    const { lives } = player.main.replay;
    player.marked = lives.descendants(uid);
    player.select(uid);
  }

  private move(): void {
    if (!this.hand || !this.element.isConnected) return;
    const x = this.scale(this.player.tick);
    this.hand.setAttribute("x1", String(x));
    this.hand.setAttribute("x2", String(x));
  }
}
