// One life, looked at: where it stands, what it has, whose child it is, what it does and why.

import { h, plain, short } from "./dom";
import { groupStyle } from "./palette";
import type { Player } from "./player";
import { whyOf } from "./why";

export class Inspector {
  readonly element = h("section.inspector", { "aria-label": "Agent" });
  private shown = "";

  constructor(private player: Player) {
    player.onFrame.on(() => this.show());
    player.onSelect.on(() => this.renew());
  }

  /** Draw anew: somebody else is selected, or the colours are others. */
  renew(): void {
    this.shown = "";
    this.show();
  }

  private show(): void {
    const { player, element } = this;
    if (!element.isConnected || !player.views.length || !player.main.chunk) return;
    const uid = player.selected;
    const key = `${uid} ${player.main.frame} ${player.marked?.size} ${player.follow} ${player.main.replay.frames}`;
    if (key === this.shown) return;
    this.shown = key;
    element.replaceChildren(...(uid === null ? this.nobody() : this.life(uid)));
  }

  private nobody(): Node[] {
    const { replay, frame } = this.player.main;
    const counts = replay.head.groups.map((name: string, i: number) =>
      h("tr", {}, h("td", {}, swatch(name, i), plain(name)), h("td", {}, replay.line(`population/${name}`)[frame]), h("td", {}, replay.lives.counts[i] ?? 0)));
    return [
      h("p.hint", {}, "Click an agent to look at it. Drag to move the map, scroll to come closer."),
      h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "group"), h("th", {}, "now"), h("th", {}, "ever"))), h("tbody", {}, ...counts)),
    ];
  }

  private life(uid: number): Node[] {
    const { player } = this;
    const { replay } = player.main;
    const life = replay.lives.get(uid);
    if (!life) return [h("p.hint", {}, `Nobody here has the number ${uid}.`)];
    const row = player.main.rowOf(uid);
    const group = replay.head.groups[life.group];
    const tick = player.tick;
    const when = tick < life.born ? `is born at tick ${life.born}` : life.died !== null && tick >= life.died
      ? `died at tick ${life.died} (${plain(life.cause ?? "")})` : `alive, ${tick - life.born} ticks old`;
    return [
      h("h2", {}, swatch(group, life.group), `${plain(group)} #${uid}`),
      h("p.state", { data: { state: row < 0 ? "away" : "here" } }, when),
      this.buttons(uid),
      ...(row < 0 ? [] : whyOf(player, row)),
      ...(row < 0 ? [] : this.attributes(row)),
      this.kin(uid),
      this.deeds(uid),
    ];
  }

  private buttons(uid: number): Node {
    const { player } = this;
    const life = player.main.replay.lives.get(uid)!;
    const on = (label: string, title: string, active: boolean, act: () => void) =>
      h("button", { title, "aria-pressed": String(active), onclick: act }, label);
    return h("div.row", {},
      on("follow", "Keep it in the middle (f)", player.follow, () => { player.follow = !player.follow; player.redraw(); player.onSelect.say(); }),
      on("descendants", "Mark its descendants (d)", player.marked !== null, () => this.toggleMarks()),
      h("button", { title: "Go to its birth", onclick: () => { player.pause(); player.seek(player.main.replay.frameOf(life.born)); } }, "birth"),
      life.died !== null && h("button", { title: "Go to its death", onclick: () => { player.pause(); player.seek(player.main.replay.frameOf(life.died!)); } }, "death"));
  }

  toggleMarks(): void {
    const { player } = this;
    if (player.selected === null) return;
    player.mark(player.marked ? null : player.main.replay.lives.descendants(player.selected));
  }

  private attributes(row: number): Node[] {
    const { replay, chunk, frame } = this.player.main;
    const read = (name: string) => chunk!.column(name, frame)[row];
    const cell = read("cell");
    const { width, attributes } = replay.head.render_spec;
    const rows = attributes.filter((attribute: any) => attribute.name !== "number").map((attribute: any) => {
      const code = read(`attribute/${attribute.name}`);
      if (attribute.labels.length) return fact(attribute.name, plain(attribute.labels[code] ?? "–"));
      const value = code / attribute.scale;
      return fact(attribute.name, short(value), attribute.max_value ? value / attribute.max_value : undefined);
    });
    const slot = read("slot");
    const does = Object.entries<string[][]>(replay.head.heads).map(([head, choices]) => {
      const chosen = read(`action/${head}`);
      return fact(`${plain(head)} now`, chosen < 0 ? "–" : plain(choices[read("group")][chosen]));
    });
    return [h("dl.facts", {},
      ...rows, fact("return", short(read("return") / replay.head.return_scale)),
      fact("place", `row ${Math.floor(cell / width)}, column ${cell % width}`),
      slot >= 0 ? fact("slot", replay.head.slots[slot]) : null, ...does)];
  }

  private kin(uid: number): Node {
    const { replay } = this.player.main;
    const life = replay.lives.get(uid)!;
    const link = (other: number) => h("button.link", { onclick: () => this.player.select(other) }, other);
    const descendants = replay.lives.descendants(uid);
    const living = [...descendants].filter((one) => replay.lives.aliveAt(replay.lives.get(one)!, this.player.tick)).length;
    return h("dl.facts", {},
      fact("parents", life.parents.length ? h("span", {}, ...life.parents.map(link)) : "none: a founder"),
      life.children.length ? fact("children", h("span", {}, ...life.children.slice(0, 12).map(link), life.children.length > 12 && ` and ${life.children.length - 12} more`)) : fact("children", "none"),
      fact("descendants", `${descendants.size}, ${living} alive now`));
  }

  /** What it did or had done to it around now: the events of the chunk at hand. */
  private deeds(uid: number): Node {
    const { chunk, frame } = this.player.main;
    const past = chunk!.events().filter((one) => (one.uid === uid || one.other === uid && isLife(one.kind)) && one.frame <= frame).slice(-6).reverse();
    if (!past.length) return h("span");
    return h("div", {}, h("h3", {}, "Lately"), h("ol.deeds", {}, ...past.map((one) =>
      h("li", {}, h("span.when", {}, one.tick), ` ${plain(one.kind)}${one.note ? `: ${plain(one.note)}` : ""}${one.other >= 0 && isLife(one.kind) ? ` (${one.uid === uid ? one.other : one.uid})` : ""}`))));
  }
}

/** Whether the other of an event is a life, not a thing. */
function isLife(kind: string): boolean { return /birth|capture|bite|kick|carcass|reproduction_reward/.test(kind); }

function fact(name: string, value: Node | string, share?: number): HTMLElement {
  const bar = share === undefined ? null : h("span.bar", {}, h("span", { style: `width:${Math.round(100 * Math.max(0, Math.min(1, share)))}%` }));
  return h("div", { data: { fact: name } }, h("dt", {}, plain(name)), h("dd", {}, value, bar));
}

export function swatch(name: string, index: number): HTMLElement {
  const { colour, shape } = groupStyle(name, index);
  return h(`span.swatch.${shape}`, { style: `background:${colour}` });
}
