// The role tree: from the seeded roles to the champion, with the tiers of the selected role and what changed.

import { hierarchy } from "d3-hierarchy";
import { ancestry, diffRoles, findChampion, readRoles, type Role } from "../data/roles";
import { formatName, formatNumber, h, s } from "../dom";
import { ArchiveMap } from "./archive_map";
import { BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION } from "../map/palette";

const ORIGIN_COLOURS: Record<string, string> = {
  manual: BLUE, sampled: SKY, recombined: GREEN, mutated: ORANGE, hybrid: PURPLE, explore: VERMILLION,
};
const ROW_HEIGHT = 18, MAX_INDENT = 26, LABEL_WIDTH = 130, MARGIN = 12; // pixels
const CHARACTER_WIDTH = 6.3; // pixels, on average
const CHANGE_SIGNS = { kept: "", added: "+", removed: "−", moved: "↕" };
const N_FITTEST = 12; // drawn besides the champion's ancestors

interface Node { role: Role | null; children: Node[] }
interface Place { role: Role; x: number; y: number }

export class RoleTree {
  readonly element = h("section.roles", { "aria-label": "Roles" });
  private roles = new Map<string, Role>();
  private champion: Role | null = null;
  private run = "";
  private selected: string | null = null;
  private showAll = false;
  private archive = new ArchiveMap();
  private tree = h("div.tree");
  private drawnWidth = 0;

  constructor() {
    new ResizeObserver(() => { // the tree fits its panel
      if (!this.tree.clientWidth || this.tree.clientWidth === this.drawnWidth || !this.roles.size) return;
      this.drawnWidth = this.tree.clientWidth;
      this.tree.replaceChildren(this.drawTree());
    }).observe(this.tree);
  }

  /** Show the roles of a run; another run's selection is dropped. */
  show(history: any | null, run: string): void {
    if (run !== this.run) [this.run, this.selected, this.archive] = [run, null, new ArchiveMap()];
    this.archive.show(history?.archive ?? null);
    this.roles = new Map(readRoles(history).map((role) => [role.id, role]));
    this.champion = findChampion([...this.roles.values()]);
    if (!this.selected || !this.roles.has(this.selected)) this.selected = this.champion?.id ?? [...this.roles.keys()][0] ?? null;
    this.draw();
  }

  private draw(): void {
    if (!this.roles.size) {
      this.element.replaceChildren(h("p.hint", {}, "This run has no roles. `kinfolk evolve roles` makes some."));
      return;
    }
    const toggle = h("label", {}, h("input", { type: "checkbox", checked: this.showAll, onchange: () => { this.showAll = !this.showAll; this.draw(); } }), " all roles");
    const origins = new Set([...this.roles.values()].map((role) => role.origin));
    const legend = h("div.legend", {}, ...Object.entries(ORIGIN_COLOURS).filter(([origin]) => origins.has(origin)).map(([origin, colour]) => h("span", {}, h("i", { style: `background:${colour}` }), origin)));
    this.element.replaceChildren(this.archive.element, h("h2", {}, "Roles"), h("div.row", {}, toggle, legend), h("p.hint.tree-key", {}, "★ the fittest, with its line of descent; larger: fitter; dashed: second parent"), h("div.role-columns", {}, this.tree, this.detail()));
    this.tree.replaceChildren(this.drawTree());
  }

  /** Ids of the roles to draw: all, or the seeded ones and the ancestors of champion, selection and fittest. */
  private drawnRoles(): Set<string> {
    const all = [...this.roles.values()];
    if (this.showAll) return new Set(this.roles.keys());
    const fittest = all.filter((role) => role.games > 0).sort((a, b) => b.fitness - a.fitness).slice(0, N_FITTEST);
    const drawn = new Set(all.filter((role) => role.origin === "manual").map((role) => role.id));
    for (const role of [this.champion, this.roles.get(this.selected ?? ""), ...fittest]) if (role) ancestry(this.roles, role).forEach(({ id }) => drawn.add(id));
    return drawn;
  }

  /** Draw each role on a line of its own below its first parent, indented as far as the width allows. */
  private drawTree(): SVGElement {
    const nodes = new Map([...this.drawnRoles()].map((id) => [id, { role: this.roles.get(id)!, children: [] } as Node]));
    const root: Node = { role: null, children: [] };
    for (const node of nodes.values()) (nodes.get(node.role!.parents[0]) ?? root).children.push(node);
    const tree = hierarchy(root);
    const width = Math.max(LABEL_WIDTH + 40, (this.tree.clientWidth || 320) - 14);
    const indent = Math.min(MAX_INDENT, (width - LABEL_WIDTH) / Math.max(1, tree.height));
    const places = new Map<string, Place>();
    tree.eachBefore(({ data: { role }, depth }) => {
      if (role) places.set(role.id, { role, x: MARGIN + (depth - 1) * indent, y: ROW_HEIGHT * (places.size + 0.7) });
    });
    const svg = s("svg", { width, height: ROW_HEIGHT * (places.size + 0.4), role: "tree", "aria-label": "Roles" });
    const championLine = new Set(this.champion ? ancestry(this.roles, this.champion).map((role) => role.id) : []);
    for (const { role, x, y } of places.values()) {
      role.parents.forEach((parent, i) => {
        const from = places.get(parent);
        if (!from) return;
        const line = championLine.has(role.id) && championLine.has(parent) && !i ? "line" : "";
        svg.append(s("path", { class: `descent ${i ? "second" : ""} ${line}`, d: i ? `M${from.x},${from.y}Q${Math.max(0, Math.min(from.x, x) - 10)},${(from.y + y) / 2} ${x},${y}` : `M${from.x},${from.y}V${y}H${x}` }));
      });
    }
    for (const { role, x, y } of places.values()) svg.append(this.drawRole(role, x, y, width));
    return svg;
  }

  private drawRole(role: Role, x: number, y: number, width: number): SVGElement {
    const select = () => { this.selected = role.id; this.draw(); };
    const radius = 3 + 3.5 * Math.max(0, Math.min(1, role.fitness));
    return s("g", { class: `role ${role.id === this.selected ? "selected" : ""}`, "data-role": role.name, role: "treeitem", tabindex: 0, transform: `translate(${x},${y})`, onclick: select, onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") select(); } },
      s("circle", { r: radius, fill: ORIGIN_COLOURS[role.origin] ?? "#888" }),
      s("text", { x: 9, y: 3.5 }, shorten(`${role === this.champion ? "★ " : ""}${role.name}`, Math.floor((width - x - 12) / CHARACTER_WIDTH))),
      s("title", {}, `${role.name}: fitness ${formatNumber(role.fitness)} over ${role.games} games`));
  }

  private detail(): HTMLElement {
    const role = this.roles.get(this.selected!)!;
    const parents = role.parents.map((id) => this.roles.get(id)).filter((parent): parent is Role => Boolean(parent));
    const link = ({ id, name }: Role) => h("button.link", { onclick: () => { this.selected = id; this.draw(); } }, name);
    return h("div.role-detail", {},
      h("h2", {}, role.name, role.locked ? h("small", { title: "It was fit enough to keep its name" }, " name locked") : null),
      h("p.state", {}, `${role.origin}, fitness ${formatNumber(role.fitness)}, ${role.games} games, ${role.wins} won`),
      parents.length ? h("p", {}, "from ", ...parents.flatMap((parent, i) => (i ? [" and ", link(parent)] : [link(parent)]))) : null,
      ...(parents.length ? parents : [null]).map((parent) => this.diff(parent, role)));
  }

  private diff(parent: Role | null, child: Role): HTMLElement {
    const lines = diffRoles(parent, child);
    const tiers = child.tiers.map((tier, i) => h("li", {},
      h("span.tier", {}, `${i + 1} ${tier.selection}`),
      ...lines.filter((line) => line.tier === i && line.change !== "removed").map(({ change, behavior }) => h(`span.behavior.${change}`, { data: { change } }, `${CHANGE_SIGNS[change]} ${formatName(behavior)}`.trim()))));
    const removed = lines.filter((line) => line.change === "removed");
    return h("div.diff", { data: { parent: parent?.name ?? "" } },
      h("h3", {}, parent ? `Compared with ${parent.name}` : "Tiers"),
      h("ol", {}, ...tiers),
      removed.length ? h("p", {}, "removed: ", ...removed.map(({ behavior }) => h("span.behavior.removed", { data: { change: "removed" } }, `− ${formatName(behavior)}`))) : null);
  }
}

function shorten(text: string, length: number): string { return text.length > length ? `${text.slice(0, Math.max(1, length - 1))}…` : text; }
