// What stands around a stage: what is played, buttons of the camera, and choices of other replays.

import type { Address } from "./address";
import { h } from "./dom";
import { swatch } from "./inspector";
import { sideColour } from "./palette";
import type { Player } from "./player";
import type { Replay } from "./replay";
import type { RunInfo } from "./source";

export function caption(replay: Replay, i: number, count: number): HTMLElement {
  const { head } = replay;
  return h("span", {}, count > 1 ? h("b", {}, `${"AB"[i]} ${replay.label} `) : null,
    `${head.world}${head.preset ? ` ${head.preset}` : ""}, seed ${head.seed}, game ${head.episode} `,
    ...head.groups.map((name: string, at: number) => h("span.key", {}, swatch(name, at), name.replace(/_/g, " "))),
    (head.render_spec.owners as string[]).includes("clips") ? h("span.key", {}, h("span.swatch.diamond", { style: `background:${sideColour("clips", head.groups)}` }), "clips") : null);
}

export function zoomers(player: Player, i: number): HTMLElement {
  const act = (label: string, title: string, call: () => void) => h("button", { title, "aria-label": title, onclick: () => { call(); player.redraw(); } }, label);
  const stage = () => player.views[i].stage;
  return h("div.zoomers", {}, act("+", "Closer", () => stage().zoom(1.4)), act("−", "Further", () => stage().zoom(1 / 1.4)), act("⤢", "Whole map (0)", () => stage().fit()));
}

/** The run's name, its replays, and those it can be compared with; `go` opens what is chosen. */
export function choosers([first, second]: Replay[], infos: RunInfo[], go: (to: Partial<Address>) => void): (Node | string)[] {
  const { run, name } = first.source;
  const names = infos.find((one) => one.name === run)?.replays.map((one) => one.name) ?? [name];
  const games = h("select", { "aria-label": "Replay", onchange: () => go({ run, replay: games.value, other: second?.source.run, otherReplay: second?.source.name }) }, ...names.map((one) => h("option", { value: one, selected: one === name }, one)));
  const others = infos.flatMap((info) => info.replays.map((one) => [info.name, one.name] as [string, string])).filter(([a, b]) => a !== run || b !== name);
  const against = h("select", { "aria-label": "Compare with", onchange: () => { const [other, otherReplay] = against.value ? (JSON.parse(against.value) as [string, string]) : []; go({ run, replay: name, other, otherReplay }); } },
    h("option", { value: "" }, "compare with…"),
    ...others.map((other) => h("option", { value: JSON.stringify(other), selected: second?.source.run === other[0] && second.source.name === other[1] }, other.join(" / "))));
  return [h("span.run-name", {}, run), names.length > 1 ? games : h("span", {}, name), others.length ? against : ""];
}
