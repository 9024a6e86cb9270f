// One colour for each name on a run's page: as its world says, else one that is free in its figure.

import type { WorldSymbol } from "../data/source";
import { forTheme, LINE_COLOURS, namedColour } from "../map/palette";

const GROUP_SHAPES = ["circle", "triangle", "square", "diamond"];

export class NamedColours {
  private assigned = new Map<string, string>();
  private declared: Map<string, string>;

  constructor(symbols: WorldSymbol[]) {
    this.declared = new Map(symbols.filter(({ colour, shape }) => colour && GROUP_SHAPES.includes(shape)).map(({ name, colour }) => [name, namedColour(colour)]));
  }

  /** The colours of the names of one figure; a name keeps the colour that it had in another one. */
  choose(names: string[]): string[] {
    const used = new Set(this.declared.values());
    const chosen = names.map((name) => {
      const known = this.declared.get(name) ?? this.assigned.get(name);
      if (known) used.add(known);
      return known;
    });
    return names.map((name, i) => {
      let colour = chosen[i];
      if (!colour) {
        colour = LINE_COLOURS.find((candidate) => !used.has(candidate)) ?? LINE_COLOURS[i % LINE_COLOURS.length];
        used.add(colour);
        this.assigned.set(name, colour);
      }
      return forTheme(colour);
    });
  }
}
