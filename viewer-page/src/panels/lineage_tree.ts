// The lineage tree of a founder: a line for each agent from birth to death, below its first parent.

import { hierarchy, type HierarchyNode } from "d3-hierarchy";
import type { AgentRecord } from "../data/agents";
import { formatInteger, formatName, h, s } from "../dom";
import type { Player } from "../player";

const MAX_DRAWN = 1500; // agents; more would be neither readable nor fast
const MAX_LISTED = 500; // founders; a list of a million takes the page 20 seconds and gigabytes
const AXIS_HEIGHT = 14; // pixels
const EVERYBODY = -1; // in place of a founder

export class LineageTree {
  readonly element = h("section.lineage", { "aria-label": "Lineage" });
  private founderSelect = h("select", { "aria-label": "Founder" });
  private tree = h("div.tree");
  private note = h("p.hint");
  private cursor: SVGElement | null = null;
  private xOf: (tick: number) => number = () => 0;
  private founder: number | null = null;
  private listedKey = ""; // replay and number of agents whose founders are listed
  private drawnKey = "";

  constructor(private player: Player) {
    this.element.append(h("div.row", {}, h("label", {}, "lives of ", this.founderSelect)), this.note, this.tree);
    this.founderSelect.addEventListener("change", () => { this.founder = Number(this.founderSelect.value); this.refresh(); });
    player.onFrame.on(() => this.moveCursor());
    player.onSelect.on(() => this.refresh());
    new ResizeObserver(() => this.refresh()).observe(this.tree);
  }

  refresh(): void {
    if (!this.element.isConnected || !this.player.views.length) return;
    const { agents } = this.player.main.replay;
    this.listFounders();
    const { selected } = this.player;
    const isRelated = this.founder === EVERYBODY || this.founder !== null && (this.founder === selected || agents.descendants(this.founder).has(selected ?? -1));
    if (selected !== null && agents.get(selected) && !isRelated) this.founder = agents.founderOf(selected);
    if (this.founder === null) return;
    this.founderSelect.value = String(this.founder);
    if (!this.founderSelect.value) { // a founder that is not listed
      this.founderSelect.append(this.founderOption(agents.get(this.founder)!, agents.descendants(this.founder).size));
      this.founderSelect.value = String(this.founder);
    }
    this.draw();
    this.moveCursor();
  }

  private founderOption(agent: AgentRecord, descendants: number): HTMLElement {
    const group = formatName(this.player.main.replay.head.groups[agent.group]);
    return h("option", { value: agent.uid }, `${group} ${agent.uid}: ${descendants} descendants`);
  }

  /** List the founders of a new replay, or of one that has grown, those with most descendants first. */
  private listFounders(): void {
    const { agents, label } = this.player.main.replay;
    const key = `${label} ${agents.agents.size}`;
    if (this.listedKey === key) return;
    if (!this.listedKey.startsWith(`${label} `)) this.founder = null;
    this.listedKey = key;
    const sized = agents.founders().map((agent) => [agent, agent.children.length ? agents.descendants(agent.uid).size : 0] as const).sort((a, b) => b[1] - a[1]);
    const listed = sized.slice(0, MAX_LISTED).map(([agent, size]) => this.founderOption(agent, size));
    this.founderSelect.replaceChildren(h("option", { value: EVERYBODY }, `everybody: ${agents.agents.size} agents`), ...listed);
    if (sized.length > MAX_LISTED) this.founderSelect.append(h("option", { disabled: true }, `and ${sized.length - MAX_LISTED} others: select an agent on the map`));
    // Where nobody is born, the lineage of one founder would be a single line.
    this.founder ??= sized.length && sized[0][1] ? sized[0][0].uid : EVERYBODY;
  }

  /** The agents of the lineage, parents before children; of everybody, as many as are drawn. */
  private nodes(): HierarchyNode<AgentRecord>[] {
    const { agents } = this.player.main.replay;
    const placed = new Set<number>(); // a child of two parents of the lineage is drawn below one of them
    const children = (agent: AgentRecord) => agent.children.filter((uid) => !placed.has(uid) && placed.add(uid)).map((uid) => agents.get(uid)!);
    const nodes: HierarchyNode<AgentRecord>[] = [];
    const roots = this.founder === EVERYBODY ? agents.founders().sort((a, b) => a.group - b.group || a.uid - b.uid) : [agents.get(this.founder!)!];
    for (const root of roots) {
      if (nodes.length >= MAX_DRAWN) break;
      hierarchy(root, children).eachBefore((node) => nodes.push(node));
    }
    return nodes;
  }

  private draw(): void {
    const { player } = this;
    const { replay } = player.main;
    const width = this.tree.clientWidth;
    const key = `${document.documentElement.dataset.theme} ${this.founder} ${this.listedKey} ${width} ${player.selected} ${player.marked?.size} ${replay.frames}`;
    if (key === this.drawnKey || !width) return;
    this.drawnKey = key;
    const all = this.nodes();
    const nodes = all.slice(0, MAX_DRAWN);
    const total = this.founder === EVERYBODY ? replay.agents.agents.size : all.length;
    const count = total > MAX_DRAWN ? `The first ${MAX_DRAWN} of ${total} agents are drawn.`
      : `${total === 1 ? "One agent" : `${total} agents`}, time from left to right.`;
    const hasBirths = [...replay.agents.agents.values()].some(({ parents }) => parents.length);
    this.note.textContent = `${hasBirths ? "" : "Nobody was born. "}${count} Click an agent to ${hasBirths ? "mark its descendants" : "select it"}.`;
    const rowHeight = nodes.length < 60 ? 16 : nodes.length < 300 ? 9 : 5;
    const bottom = 16 + nodes.length * rowHeight;
    const height = bottom + AXIS_HEIGHT;
    const lastTick = replay.ticks[replay.frames - 1] || 1;
    this.xOf = (tick) => 8 + ((width - 44) * tick) / lastTick;
    const rows = new Map(nodes.map((node, i) => [node.data.uid, 8 + i * rowHeight]));
    const svg = s("svg", { width, height, role: "tree", "aria-label": "Lineage" });
    for (const node of nodes) svg.append(this.drawAgent(node.data, rows, rowHeight, lastTick));
    this.cursor = s("line", { class: "cursor", y1: 0, y2: bottom });
    const label = (tick: number, anchor: string, text: string) => s("text", { x: this.xOf(tick), y: bottom + 11, "text-anchor": anchor }, text);
    svg.append(this.cursor, label(0, "start", "tick 0"), label(lastTick, "end", formatInteger(lastTick)));
    this.tree.replaceChildren(svg);
  }

  private drawAgent(agent: AgentRecord, rows: Map<number, number>, rowHeight: number, lastTick: number): SVGElement {
    const { player } = this;
    const { uid } = agent;
    const y = rows.get(uid)!;
    const [start, end] = [this.xOf(agent.born), this.xOf(agent.died ?? lastTick)];
    const { colour } = player.main.map.style.group(agent.group);
    const isMarked = player.marked?.has(uid) ?? false;
    const isSelected = player.selected === uid;
    const classes = ["agent", isMarked ? "marked" : "", isSelected ? "selected" : "", player.marked && !isMarked && !isSelected ? "faded" : ""];
    const group = s("g", { class: classes.join(" "), "data-uid": uid, role: "treeitem", tabindex: 0, onclick: () => this.select(uid), onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") this.select(uid); } });
    for (const parent of agent.parents) {
      const above = rows.get(parent);
      if (above !== undefined) group.append(s("path", { class: parent === agent.parents[0] ? "parent" : "parent second", d: `M${start},${above}V${y}` }));
    }
    group.append(
      s("line", { x1: start, x2: Math.max(start + 1.5, end), y1: y, y2: y, stroke: colour, "stroke-width": Math.max(2, rowHeight * 0.38) }),
      s("rect", { class: "target", x: start - 3, y: y - rowHeight / 2, width: end - start + 6, height: rowHeight, fill: "transparent" }),
      s("title", {}, `agent ${uid}, tick ${agent.born} to ${agent.died ?? "now"}${agent.cause ? `, ${formatName(agent.cause)}` : ""}`));
    if (rowHeight > 10) group.append(s("text", { x: end + 4, y: y + 3.5 }, String(uid)));
    return group;
  }

  private select(uid: number): void {
    this.player.marked = this.player.main.replay.agents.descendants(uid);
    this.player.select(uid);
  }

  private moveCursor(): void {
    if (!this.cursor || !this.element.isConnected) return;
    const x = String(this.xOf(this.player.tick));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }
}
