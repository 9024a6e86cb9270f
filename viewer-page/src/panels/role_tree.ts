// The role tree: from the seeded roles to the champion, with the tiers of the selected role and what changed.

import { hierarchy, tree, type HierarchyPointNode } from "d3-hierarchy";
import { ancestry, diffRoles, findChampion, readRoles, type Role } from "../data/roles";
import { formatName, formatNumber, h, s } from "../dom";
import { ArchiveMap } from "./archive_map";
import { BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION } from "../map/palette";

const ORIGIN_COLOURS: Record<string, string> = {
  manual: BLUE, sampled: SKY, recombined: GREEN, mutated: ORANGE, hybrid: PURPLE, explore: VERMILLION,
};
const ROW_HEIGHT = 17, COLUMN_WIDTH = 152;
const CHANGE_SIGNS = { kept: "", added: "+", removed: "−", moved: "↕" };
const N_FITTEST = 12; // drawn besides the champion's ancestors

interface Node { role: Role | null; children: Node[] }
type Point = HierarchyPointNode<Node>;

export class RoleTree {
  readonly element = h("section.roles", { "aria-label": "Roles" });
  private roles = new Map<string, Role>();
  private champion: Role | null = null;
  private selected: string | null = null;
  private showAll = false;
  private archive = new ArchiveMap();

  show(history: any | null): void {
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
    this.element.replaceChildren(this.archive.element, h("div.row", {}, toggle, legend), h("div.tree", {}, this.drawTree()), this.detail());
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

  private drawTree(): SVGElement {
    const nodes = new Map([...this.drawnRoles()].map((id) => [id, { role: this.roles.get(id)!, children: [] } as Node]));
    const root: Node = { role: null, children: [] };
    for (const node of nodes.values()) (nodes.get(node.role!.parents[0]) ?? root).children.push(node);
    const points = tree<Node>().nodeSize([ROW_HEIGHT, COLUMN_WIDTH])(hierarchy(root)).descendants().filter((point) => point.data.role);
    const top = Math.min(...points.map((point) => point.x)) - ROW_HEIGHT;
    const x = (point: Point) => point.y - COLUMN_WIDTH + 12; // d3 lays trees out downwards
    const y = (point: Point) => point.x - top;
    const svg = s("svg", { width: Math.max(...points.map(x)) + 160, height: Math.max(...points.map(y)) + ROW_HEIGHT, role: "tree", "aria-label": "Roles" });
    const pointOf = new Map(points.map((point) => [point.data.role!.id, point]));
    const championLine = new Set(this.champion ? ancestry(this.roles, this.champion).map((role) => role.id) : []);
    for (const point of points) {
      const { id, parents } = point.data.role!;
      parents.forEach((parent, i) => {
        const from = pointOf.get(parent);
        if (!from) return;
        const middle = (x(from) + x(point)) / 2;
        svg.append(s("path", { class: `descent ${i ? "second" : ""} ${championLine.has(id) && championLine.has(parent) ? "line" : ""}`, d: `M${x(from)},${y(from)}C${middle},${y(from)} ${middle},${y(point)} ${x(point)},${y(point)}` }));
      });
    }
    for (const point of points) svg.append(this.drawRole(point.data.role!, x(point), y(point)));
    return svg;
  }

  private drawRole(role: Role, x: number, y: number): SVGElement {
    const select = () => { this.selected = role.id; this.draw(); };
    const radius = 3 + 3.5 * Math.max(0, Math.min(1, role.fitness));
    return s("g", { class: `role ${role.id === this.selected ? "selected" : ""}`, "data-role": role.name, role: "treeitem", tabindex: 0, transform: `translate(${x},${y})`, onclick: select, onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") select(); } },
      s("circle", { r: radius, fill: ORIGIN_COLOURS[role.origin] ?? "#888" }),
      s("text", { x: 9, y: 3.5 }, `${role === this.champion ? "★ " : ""}${role.name}`),
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
