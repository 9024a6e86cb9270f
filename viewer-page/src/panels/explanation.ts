// The explanation of an agent's action: the behaviors that were considered, in order, and the outcome of each.

import { formatName, h } from "../dom";
import type { Player } from "../player";

const ACTED = "acts"; // the outcome of the behavior that acted, as in `kinfolk/policies/explain.py`

/** The explanation for one row of the frame that is shown; nothing if its policy gives none. */
export function explainRow(player: Player, row: number): Node[] {
  const { chunk, frame, replay } = player.main;
  const { explanations, explanation_depth: depth } = replay.head;
  const slot = chunk!.column("slot", frame)[row];
  const schema = explanations[String(slot)];
  if (!schema || !chunk!.has("why/considered")) return [];
  const read = (name: string) => chunk!.column(name, frame).subarray(row * depth, (row + 1) * depth);
  const [considered, outcomes] = [read("why/considered"), read("why/outcome")];
  const lines = [...considered].flatMap((code, i) => code < 0 ? [] : [outcomeLine(schema.behaviors[code], schema.outcomes[outcomes[i]] ?? "")]);
  const facts = Object.entries<string[]>(schema.facts).flatMap(([name, labels]) => {
    const code = chunk!.column(`why/${slot}/${name}`, frame)[row];
    const known = labels.length ? labels : replay.head.names?.[name] ?? [];
    return code < 0 ? [] : [`${formatName(name)} ${known[code] ?? code}`];
  });
  return [h("div.explanation", {},
    h("h3", {}, "Explanation"),
    facts.length ? h("p.role", {}, facts.join(", ")) : null,
    lines.length ? h("ol", {}, ...lines) : h("p.hint", {}, "No decision: the episode had ended."))];
}

function outcomeLine(behavior: string, outcome: string): HTMLElement {
  return h("li", { data: { behavior, acts: String(outcome === ACTED) } }, h("b", {}, formatName(behavior)), ` ${formatName(outcome)}`);
}
