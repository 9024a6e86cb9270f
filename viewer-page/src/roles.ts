// The role tree: from the seeded roles to the champion, with the tiers of each and what changed.

import { hierarchy, tree, type HierarchyPointNode } from "d3-hierarchy";
import { h, plain, s, short } from "./dom";
import { BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION } from "./palette";
import { ancestry, championOf, differences, rolesOf, type Role } from "./rolediff";

const ORIGINS: Record<string, string> = {
  manual: BLUE, sampled: SKY, recombined: GREEN, mutated: ORANGE, hybrid: PURPLE, explore: VERMILLION,
};
const ROW = 17, COLUMN = 152;
const CHANGES = { kept: "", added: "+", removed: "−", moved: "↕" };

interface Node { role: Role | null; children: Node[] }

export class RoleTree {
  readonly element = h("section.roles", { "aria-label": "Roles" });
  private roles = new Map<string, Role>();
  private selected: string | null = null;
  private all = false;

  show(history: any | null): void {
    this.roles = new Map(rolesOf(history).map((role) => [role.id, role]));
    if (!this.selected || !this.roles.has(this.selected)) this.selected = championOf([...this.roles.values()])?.id ?? [...this.roles.keys()][0] ?? null;
    this.draw();
  }

  private draw(): void {
    if (!this.roles.size) {
      this.element.replaceChildren(h("p.hint", {}, "This run has no roles. `kinfolk evolve roles` makes some."));
      return;
    }
    const toggle = h("label", {}, h("input", { type: "checkbox", checked: this.all, onchange: () => { this.all = !this.all; this.draw(); } }), " all roles");
    const legend = h("div.legend", {}, ...Object.entries(ORIGINS).filter(([origin]) => [...this.roles.values()].some((role) => role.origin === origin)).map(([origin, colour]) => h("span", {}, h("i", { style: `background:${colour}` }), origin)));
    this.element.replaceChildren(h("div.row", {}, toggle, legend), h("div.tree", {}, this.svg()), this.detail());
  }

  /** Those drawn: all, or the ancestors of the champion and of the chosen one, and the fittest. */
  private drawn(): Set<string> {
    const all = [...this.roles.values()];
    if (this.all) return new Set(this.roles.keys());
    const chosen = [championOf(all), this.roles.get(this.selected ?? ""), ...all.filter((role) => role.games > 0).sort((a, b) => b.fitness - a.fitness).slice(0, 12)];
    const kept = new Set(all.filter((role) => role.origin === "manual").map((role) => role.id));
    for (const role of chosen) if (role) ancestry(this.roles, role).forEach((one) => kept.add(one.id));
    return kept;
  }

  private svg(): SVGElement {
    const kept = this.drawn();
    const nodes = new Map([...kept].map((id) => [id, { role: this.roles.get(id)!, children: [] } as Node]));
    const root: Node = { role: null, children: [] };
    for (const node of nodes.values()) (nodes.get(node.role!.parents[0]) ?? root).children.push(node);
    const laid = tree<Node>().nodeSize([ROW, COLUMN])(hierarchy(root));
    const points = laid.descendants().filter((point) => point.data.role);
    const top = Math.min(...points.map((point) => point.x)) - ROW;
    const place = new Map(points.map((point) => [point.data.role!.id, point]));
    const x = (point: HierarchyPointNode<Node>) => point.y - COLUMN + 12;
    const y = (point: HierarchyPointNode<Node>) => point.x - top;
    const width = Math.max(...points.map(x)) + 160;
    const height = Math.max(...points.map(y)) + ROW;
    const svg = s("svg", { width, height, role: "tree", "aria-label": "Roles" });
    const champion = championOf([...this.roles.values()]);
    const line = new Set(champion ? ancestry(this.roles, champion).map((role) => role.id) : []);
    for (const point of points) {
      const role = point.data.role!;
      role.parents.forEach((parent, i) => {
        const from = place.get(parent);
        if (from) svg.append(s("path", { class: `descent ${i ? "second" : ""} ${line.has(role.id) && line.has(parent) ? "line" : ""}`, d: `M${x(from)},${y(from)}C${(x(from) + x(point)) / 2},${y(from)} ${(x(from) + x(point)) / 2},${y(point)} ${x(point)},${y(point)}` }));
      });
    }
    for (const point of points) svg.append(this.node(point.data.role!, x(point), y(point), champion));
    return svg;
  }

  private node(role: Role, x: number, y: number, champion: Role | null): SVGElement {
    const choose = () => { this.selected = role.id; this.draw(); };
    const size = 3 + 3.5 * Math.max(0, Math.min(1, role.fitness));
    return s("g", { class: `role ${role.id === this.selected ? "selected" : ""}`, "data-role": role.name, role: "treeitem", tabindex: 0, transform: `translate(${x},${y})`, onclick: choose, onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") choose(); } },
      s("circle", { r: size, fill: ORIGINS[role.origin] ?? "#888" }),
      s("text", { x: 9, y: 3.5 }, `${role === champion ? "★ " : ""}${role.name}`),
      s("title", {}, `${role.name}: fitness ${short(role.fitness)} over ${role.games} games`));
  }

  private detail(): HTMLElement {
    const role = this.roles.get(this.selected!)!;
    const parents = role.parents.map((id) => this.roles.get(id)).filter((one): one is Role => Boolean(one));
    const link = (one: Role) => h("button.link", { onclick: () => { this.selected = one.id; this.draw(); } }, one.name);
    return h("div.role-detail", {},
      h("h2", {}, role.name, role.locked ? h("small", { title: "It was fit enough to keep its name" }, " name locked") : null),
      h("p.state", {}, `${role.origin}, fitness ${short(role.fitness)}, ${role.games} games, ${role.wins} won`),
      parents.length ? h("p", {}, "from ", ...parents.flatMap((one, i) => (i ? [" and ", link(one)] : [link(one)]))) : null,
      ...(parents.length ? parents : [null]).map((parent) => this.diff(parent, role)));
  }

  private diff(parent: Role | null, child: Role): HTMLElement {
    const lines = differences(parent, child);
    const tiers = child.tiers.map((tier, i) => h("li", {},
      h("span.tier", {}, `${i + 1} ${tier.selection}`),
      ...lines.filter((line) => line.tier === i && line.change !== "removed").map((line) => h(`span.behaviour.${line.change}`, { data: { change: line.change } }, `${CHANGES[line.change]} ${plain(line.behaviour)}`.trim()))));
    const gone = lines.filter((line) => line.change === "removed");
    return h("div.diff", { data: { parent: parent?.name ?? "" } },
      h("h3", {}, parent ? `Compared with ${parent.name}` : "Tiers"),
      h("ol", {}, ...tiers),
      gone.length ? h("p", {}, "no longer: ", ...gone.map((line) => h("span.behaviour.removed", { data: { change: "removed" } }, `− ${plain(line.behaviour)}`))) : null);
  }
}
