// One colour for each name on a run's page: as its world says, else the next of the palette.

import type { WorldSymbol } from "../data/source";
import { forTheme, LINE_COLOURS, namedColour } from "../map/palette";

export class NamedColours {
  private assigned = new Map<string, string>();
  private declared: Map<string, string>;

  constructor(symbols: WorldSymbol[]) {
    this.declared = new Map(symbols.filter(({ colour }) => colour).map(({ name, colour }) => [name, namedColour(colour)]));
  }

  /** The colour of a name, the same wherever it occurs. */
  get(name: string): string {
    const known = this.declared.get(name) ?? this.assigned.get(name);
    if (known) return forTheme(known);
    const used = new Set([...this.declared.values(), ...this.assigned.values()]);
    const next = LINE_COLOURS.find((colour) => !used.has(colour)) ?? LINE_COLOURS[this.assigned.size % LINE_COLOURS.length];
    this.assigned.set(name, next);
    return forTheme(next);
  }
}
