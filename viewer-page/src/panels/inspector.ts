// The selected agent: its state, attributes, action with explanation, relatives and recent events.

import { formatName, formatNumber, h } from "../dom";
import type { GroupStyle } from "../map/world_style";
import type { Player } from "../player";
import { explainRow } from "./explanation";

const MAX_CHILDREN = 12, MAX_EVENTS = 6; // shown at once

export class Inspector {
  readonly element = h("section.inspector", { "aria-label": "Agent" });
  private shownKey = "";

  constructor(private player: Player) {
    player.onFrame.on(() => this.show());
    player.onSelect.on(() => this.refresh());
  }

  /** Draw again: the selection or the colours have changed. */
  refresh(): void {
    this.shownKey = "";
    this.show();
  }

  private show(): void {
    const { player, element } = this;
    if (!element.isConnected || !player.views.length || !player.main.chunk) return;
    const uid = player.selected;
    const key = `${uid} ${player.main.frame} ${player.marked?.size} ${player.follow} ${player.main.replay.frames}`;
    if (key === this.shownKey) return;
    this.shownKey = key;
    const game = player.views.length > 1 ? [h("p.hint.game", {}, `Game A: ${player.main.replay.label}`)] : [];
    element.replaceChildren(...game, ...(uid === null ? this.overview() : this.agent(uid)));
  }

  /** Without a selection: how many agents each group has. */
  private overview(): Node[] {
    const { replay, frame } = this.player.main;
    const counts = replay.head.groups.map((name: string, i: number) =>
      h("tr", {}, h("td", {}, swatch(this.player.main.map.style.group(i)), formatName(name)), h("td", {}, replay.series(`population/${name}`)[frame]), h("td", {}, replay.agents.counts[i] ?? 0)));
    return [
      h("p.hint", {}, "Click an agent to select it. Drag to move the map, scroll to zoom."),
      h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "group"), h("th", {}, "alive now"), h("th", {}, "in total"))), h("tbody", {}, ...counts)),
    ];
  }

  private agent(uid: number): Node[] {
    const { player } = this;
    const { replay } = player.main;
    const agent = replay.agents.get(uid);
    if (!agent) return [h("p.hint", {}, `There is no agent ${uid} in this replay.`)];
    const row = player.main.rowOf(uid);
    const group = replay.head.groups[agent.group];
    const tick = player.tick;
    const state = tick < agent.born ? `born at tick ${agent.born}` : agent.died !== null && tick >= agent.died
      ? `died at tick ${agent.died} (${formatName(agent.cause ?? "")})` : `alive, ${tick - agent.born} ${tick - agent.born === 1 ? "tick" : "ticks"} old`;
    return [
      h("h2", {}, swatch(player.main.map.style.group(agent.group)), `${formatName(group)} #${uid}`),
      h("p.state", { data: { state: row < 0 ? "absent" : "present" } }, state),
      this.buttons(uid),
      ...(row < 0 ? [] : [...explainRow(player, row), this.attributes(row)]),
      this.relatives(uid),
      this.recentEvents(uid),
    ];
  }

  private buttons(uid: number): Node {
    const { player } = this;
    const { agents } = player.main.replay;
    const { born, died } = agents.get(uid)!;
    const toggle = (label: string, title: string, active: boolean, act: () => void) =>
      h("button", { title, "aria-pressed": String(active), onclick: act }, label);
    const jump = (label: string, tick: number) =>
      h("button", { title: `Go to its ${label}`, onclick: () => { player.pause(); player.seek(player.main.replay.frameOf(tick)); } }, label);
    return h("div.row", {},
      toggle("follow", "Keep it in the middle (f)", player.follow, () => { player.follow = !player.follow; player.redraw(); player.onSelect.emit(); }),
      toggle("descendants", "Mark its descendants (d)", player.marked !== null, () => this.toggleMarks()),
      jump("birth", born), died !== null && jump("death", died));
  }

  toggleMarks(): void {
    const { player } = this;
    if (player.selected === null) return;
    player.mark(player.marked ? null : player.main.replay.agents.descendants(player.selected));
  }

  private attributes(row: number): Node {
    const { replay, chunk, frame } = this.player.main;
    const { head } = replay;
    const read = (name: string) => chunk!.column(name, frame)[row];
    const cell = read("cell");
    const { width, attributes } = head.render_spec;
    const values = attributes.filter((attribute: any) => attribute.drawn_as !== "hidden").map(({ name, labels, scale, max_value: maxValue }: any) => {
      const code = read(`attribute/${name}`);
      if (labels.length) return fact(name, formatName(labels[code] ?? "–"));
      return fact(name, formatNumber(code / scale), maxValue ? code / scale / maxValue : undefined);
    });
    const slot = read("slot");
    const actions = Object.entries<string[][]>(head.heads).map(([name, choices]) => {
      const action = read(`action/${name}`);
      return fact(`${formatName(name)} now`, action < 0 ? "–" : formatName(choices[read("group")][action]));
    });
    return h("dl.facts", {},
      ...values, fact("return", formatNumber(read("return") / head.return_scale)),
      fact("position", `row ${Math.floor(cell / width)}, column ${cell % width}`),
      slot >= 0 ? fact("slot", head.slots[slot]) : null, ...actions);
  }

  private relatives(uid: number): Node {
    const { agents } = this.player.main.replay;
    const { parents, children } = agents.get(uid)!;
    const link = (other: number) => h("button.link", { onclick: () => this.player.select(other) }, other);
    const descendants = agents.descendants(uid);
    const living = [...descendants].filter((other) => agents.isAlive(other, this.player.tick)).length;
    return h("dl.facts", {},
      fact("parents", parents.length ? h("span", {}, ...parents.map(link)) : "none: a founder"),
      children.length ? fact("children", h("span", {}, ...children.slice(0, MAX_CHILDREN).map(link), children.length > MAX_CHILDREN && ` and ${children.length - MAX_CHILDREN} more`)) : fact("children", "none"),
      fact("descendants", `${descendants.size}, ${living} alive now`));
  }

  /** The last events up to now that involve an agent, as far as they lie in the loaded chunk. */
  private recentEvents(uid: number): Node {
    const { chunk, frame, replay } = this.player.main;
    const pairs: string[] = replay.head.render_spec.pair_events ?? [];
    const involvesOther = (kind: string) => pairs.includes(kind);
    const events = chunk!.events().filter((event) => (event.uid === uid || event.other === uid && involvesOther(event.kind)) && event.frame <= frame).slice(-MAX_EVENTS).reverse();
    if (!events.length) return h("span");
    return h("div", {}, h("h3", {}, "Recent events"), h("ol.recent", {}, ...events.map(({ tick, kind, note, uid: subject, other }) =>
      h("li", {}, h("span.tick", {}, tick), ` ${formatName(kind)}${note ? `: ${formatName(note)}` : ""}${other >= 0 && involvesOther(kind) ? ` (${subject === uid ? other : subject})` : ""}`))));
  }
}

function fact(name: string, value: Node | string, fill?: number): HTMLElement {
  const bar = fill === undefined ? null : h("span.bar", {}, h("span", { style: `width:${Math.round(100 * Math.max(0, Math.min(1, fill)))}%` }));
  return h("div", { data: { fact: name } }, h("dt", {}, formatName(name)), h("dd", {}, value, bar));
}

/** The shape and colour of a group, as a key to the map. */
export function swatch({ colour, shape }: GroupStyle): HTMLElement {
  return h(`span.swatch.${shape}`, { style: `background:${colour}` });
}
