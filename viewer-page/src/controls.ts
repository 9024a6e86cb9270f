// Controls around the maps: captions, zoom buttons, and selects for other replays.

import { addressHref, type Address } from "./address";
import type { Replay } from "./data/replay";
import type { RunInfo, RunRow } from "./data/source";
import { formatName, h } from "./dom";
import { WorldStyle } from "./map/world_style";
import { swatch } from "./panels/inspector";
import type { Player } from "./player";

const MAX_OTHERS = 300; // replays that are offered to compare with; the list of runs has all

/** What is played on a map, by whom, and the colours of its groups; with its name if there are several maps. */
export function caption({ head, label }: Replay, index: number, count: number): HTMLElement {
  const style = new WorldStyle(head);
  const sides = style.owners.filter((name) => !style.groups.includes(name));
  return h("span", {}, count > 1 ? h("b", {}, `${"AB"[index]} ${label} `) : null,
    `${head.world}${head.preset ? ` ${head.preset}` : ""}, seed ${head.seed}, episode ${head.episode} `,
    ...head.groups.map((name: string, i: number) => h("span.key", {}, swatch(style.group(i)), formatName(name))),
    ...sides.map((name) => h("span.key", {}, h("span.swatch.diamond", { style: `background:${style.owner(name)}` }), formatName(name))),
    ...Object.entries<string>(head.players ?? {}).map(([slot, policy]) => h("span.key.player", { title: policy }, `${slot}: ${policy}`)));
}

export function zoomButtons(player: Player, index: number): HTMLElement {
  const button = (label: string, title: string, act: () => void) => h("button", { title, "aria-label": title, onclick: () => { act(); player.redraw(); } }, label);
  const map = () => player.views[index].map;
  return h("div.zoom-buttons", {}, button("+", "Zoom in", () => map().zoom(1.4)), button("−", "Zoom out", () => map().zoom(1 / 1.4)), button("⤢", "Whole map (0)", () => map().fit()));
}

/** The run's name, a select of its replays and one of those to compare with; `open` shows the choice. */
export function replaySelects([first, second]: Replay[], info: RunInfo, runs: RunRow[], open: (address: Partial<Address>) => void): (Node | string)[] {
  const { run, name } = first.source;
  const names = info.replays.map((replay) => replay.name);
  const replaySelect = h("select", { "aria-label": "Replay", onchange: () => open({ run, replay: replaySelect.value, other: second?.source.run, otherReplay: second?.source.name }) }, ...names.map((option) => h("option", { value: option, selected: option === name }, option)));
  const candidates = [info, ...runs.filter((other) => other.name !== run)];
  const others = candidates.flatMap((other) => other.replays.map((replay) => [other.name, replay.name] as [string, string])).filter(([otherRun, otherName]) => otherRun !== run || otherName !== name).slice(0, MAX_OTHERS);
  const otherSelect = h("select", { "aria-label": "Compare with", onchange: () => { const [other, otherReplay] = otherSelect.value ? (JSON.parse(otherSelect.value) as [string, string]) : []; open({ run, replay: name, other, otherReplay }); } },
    h("option", { value: "" }, "compare with…"),
    ...others.map((other) => h("option", { value: JSON.stringify(other), selected: second?.source.run === other[0] && second.source.name === other[1] }, other.join(" / "))));
  return [h("a.run-name", { href: addressHref({ run, view: "page" }), title: "Page of this run" }, run), names.length > 1 ? replaySelect : h("span", {}, name), others.length ? otherSelect : ""];
}
