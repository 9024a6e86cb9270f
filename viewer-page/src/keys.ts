// The keyboard.

import { h } from "./dom";
import type { Player } from "./player";

export const HELP: [string, string][] = [
  ["space", "play or pause"], ["← →", "one tick back or on; with shift, ten"], ["Home End", "first, last tick"],
  ["+ −", "faster, slower"], ["[ ]", "event before, next event"], ["f", "follow the chosen agent"],
  ["d", "mark its descendants"], ["s", "show what it sees"], ["n p", "next or previous agent"],
  ["0", "whole map"], ["1 to 5", "panels"], ["t", "light or dark"], ["Esc", "choose nobody"], ["?", "these keys"],
];

const ANYWHERE = ["t", "?"]; // keys that need no replay

export interface Hands { player: Player; jump(direction: 1 | -1): void; faster(direction: 1 | -1): void; tab(index: number): void; theme(): void; marks(): void; help(): void }

export function listen(hands: Hands): void {
  const { player } = hands;
  const neighbour = (direction: number) => {
    if (!player.main.chunk) return;
    const uids = [...player.main.chunk.column("uid", player.main.frame)].filter((uid) => uid >= 0).sort((a, b) => a - b);
    const at = uids.indexOf(player.selected ?? -1);
    player.select(uids[(at + direction + uids.length) % uids.length] ?? null);
  };
  const acts: Record<string, (event: KeyboardEvent) => void> = {
    " ": () => player.toggle(),
    ArrowLeft: (event) => player.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => player.step(event.shiftKey ? 10 : 1),
    Home: () => player.seek(0),
    End: () => player.seek(player.lastFrame),
    "+": () => hands.faster(1), "=": () => hands.faster(1), "-": () => hands.faster(-1),
    "[": () => hands.jump(-1), "]": () => hands.jump(1),
    f: () => { player.follow = !player.follow && player.selected !== null; player.redraw(); player.onSelect.say(); },
    d: () => hands.marks(),
    s: () => { player.sight = !player.sight; player.redraw(); },
    n: () => neighbour(1), p: () => neighbour(-1),
    "0": () => player.views.forEach((view) => { view.stage.fit(); player.redraw(); }),
    t: () => hands.theme(), "?": () => hands.help(),
    Escape: () => { player.marked = null; player.select(null); },
  };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return; // its keys are its own: Escape closes it
    const target = event.target as HTMLElement;
    const writing = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && !(target as HTMLInputElement).classList.contains("scrub");
    if (event.ctrlKey || event.metaKey || event.altKey || writing || (!player.views.length && !ANYWHERE.includes(event.key))) return;
    if (event.key === " " && target.tagName === "BUTTON" && !target.classList.contains("play")) return;
    const act = acts[event.key] ?? (/^[1-5]$/.test(event.key) ? () => hands.tab(Number(event.key) - 1) : null);
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

export function helpBox(): HTMLDialogElement {
  const box = h("dialog.help", { "aria-label": "Keys" }, h("h2", {}, "Keys"),
    h("dl", {}, ...HELP.flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)])),
    h("form", { method: "dialog" }, h("button", {}, "close")));
  return box;
}
