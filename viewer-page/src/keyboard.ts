// Keyboard shortcuts, and the dialog that lists them.

import { h } from "./dom";
import type { Player } from "./player";
import { TABS } from "./side_panel";

const SHORTCUTS: [string, string][] = [
  ["space", "play or pause"], ["← →", "one tick back or on; with shift, ten"], ["Home End", "first, last tick"],
  ["+ −", "faster, slower"], ["[ ]", "previous event, next event"], ["f", "follow the selected agent"],
  ["d", "mark its descendants"], ["s", "show what it observes"], ["n p", "next or previous agent"],
  ["0", "whole map"], ["l", "legend"], ["1 to 5", `panels: ${TABS.map((name, i) => `${i + 1} ${name}`).join(", ")}`], ["t", "light or dark"], ["Esc", "clear the selection"], ["/", "search runs"], ["↑ ↓ Enter", "in the list: from run to run, open"], ["?", "this list"],
];

const GLOBAL_KEYS = ["t", "?", "/"]; // that need no replay

export interface Actions { player: Player; jump(direction: 1 | -1): void; changeSpeed(direction: 1 | -1): void; selectTab(index: number): void; toggleTheme(): void; toggleMarks(): void; showHelp(): void; search(): void; toggleLegend(): void }

export function listenToKeys(actions: Actions): void {
  const { player } = actions;
  const selectNeighbour = (direction: number) => {
    if (!player.main.chunk) return;
    const uids = [...player.main.chunk.column("uid", player.main.frame)].filter((uid) => uid >= 0).sort((a, b) => a - b);
    const index = uids.indexOf(player.selected ?? -1);
    player.select(uids[(index + direction + uids.length) % uids.length] ?? null);
  };
  const handlers: Record<string, (event: KeyboardEvent) => void> = {
    " ": () => player.toggle(),
    ArrowLeft: (event) => player.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => player.step(event.shiftKey ? 10 : 1),
    Home: () => player.seek(0),
    End: () => player.seek(player.lastFrame),
    "+": () => actions.changeSpeed(1), "=": () => actions.changeSpeed(1), "-": () => actions.changeSpeed(-1),
    "[": () => actions.jump(-1), "]": () => actions.jump(1),
    f: () => { player.follow = !player.follow && player.selected !== null; player.redraw(); player.onSelect.emit(); },
    d: () => actions.toggleMarks(),
    s: () => { player.showViewRadius = !player.showViewRadius; player.redraw(); },
    n: () => selectNeighbour(1), p: () => selectNeighbour(-1),
    l: () => actions.toggleLegend(),
    "0": () => player.views.forEach((view) => { view.map.fit(); player.redraw(); }),
    t: () => actions.toggleTheme(), "?": () => actions.showHelp(), "/": () => actions.search(),
    Escape: () => { player.marked = null; player.select(null); },
  };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return; // the dialog handles its own keys: Escape closes it
    const target = event.target as HTMLElement;
    const isInput = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && !target.classList.contains("scrub");
    if (event.ctrlKey || event.metaKey || event.altKey || isInput || (!player.views.length && !GLOBAL_KEYS.includes(event.key))) return;
    if (event.key === " " && target.tagName === "BUTTON" && !target.classList.contains("play")) return;
    const handler = handlers[event.key] ?? (/^[1-5]$/.test(event.key) ? () => actions.selectTab(Number(event.key) - 1) : null);
    if (!handler) return;
    event.preventDefault();
    handler(event);
  });
}

export function helpDialog(): HTMLDialogElement {
  return h("dialog.help", { "aria-label": "Keys" }, h("h2", {}, "Keys"),
    h("dl", {}, ...SHORTCUTS.flatMap(([key, action]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, action)])),
    h("form", { method: "dialog" }, h("button", {}, "close")));
}
