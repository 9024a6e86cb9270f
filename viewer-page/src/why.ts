// Why an agent does what it does: what was considered, in order, and what came of each.

import { h, plain } from "./dom";
import type { Player } from "./player";

/** The panel for one row of the frame that is shown; nothing if its policy cannot tell. */
export function whyOf(player: Player, row: number): Node[] {
  const { chunk, frame, replay } = player.main;
  const { explanations, explanation_depth: depth } = replay.head;
  const slot = chunk!.column("slot", frame)[row];
  const names = explanations[String(slot)];
  if (!names || !chunk!.has("why/considered")) return [];
  const read = (name: string) => chunk!.column(name, frame).subarray(row * depth, (row + 1) * depth);
  const [considered, verdict] = [read("why/considered"), read("why/outcome")];
  const lines = [...considered].flatMap((code, i) => code < 0 ? [] : [reason(names.behaviors[code], names.outcomes[verdict[i]] ?? "")]);
  const facts = Object.entries<string[]>(names.facts).flatMap(([name, words]) => {
    const code = chunk!.column(`why/${slot}/${name}`, frame)[row];
    const known = words.length ? words : replay.head.names?.[name] ?? [];
    return code < 0 ? [] : [`${plain(name)} ${known[code] ?? code}`];
  });
  return [h("div.why", {},
    h("h3", {}, "Why"),
    facts.length ? h("p.role", {}, facts.join(", ")) : null,
    lines.length ? h("ol", {}, ...lines) : h("p.hint", {}, "Nothing was decided here: the game ended."))];
}

function reason(behaviour: string, verdict: string): HTMLElement {
  const acts = verdict === "acts";
  return h("li", { data: { behaviour, acts: String(acts) } }, h("b", {}, plain(behaviour)), ` ${plain(verdict)}`);
}
