// How a world's groups, owners, cells and letters are drawn, as the head of its replay says.

import type { WorldSymbol } from "../data/source";
import { forTheme, GROUP_COLOURS, LINE_COLOURS, mix, namedColour, rgb, VERMILLION, type ColourScheme, type Rgb } from "./palette";

export type Shape = "circle" | "triangle" | "square" | "diamond";
export interface GroupStyle { colour: string; shape: Shape }

const SHAPES: Shape[] = ["circle", "square", "diamond", "triangle"];
const GREYS: Record<string, Rgb> = { light: [120, 118, 112], dark: [150, 154, 160] };
/** How much of its colour a cell has below a symbol of each shape; a stock has more when it is full. */
const CELL_SHARES: Record<string, [number, number]> = { stock: [0.15, 0.45], diamond: [0.3, 0], tile: [0.55, 0] };

/** The style of the group with a number, if its world says nothing. */
export function defaultGroupStyle(index: number): GroupStyle {
  return { colour: forTheme(GROUP_COLOURS[index % GROUP_COLOURS.length]), shape: SHAPES[index % SHAPES.length] };
}

export class WorldStyle {
  readonly groups: string[];
  readonly owners: string[];
  private symbols: Map<string, WorldSymbol>;

  constructor(private head: any) {
    this.groups = head.groups;
    this.owners = head.render_spec.owners ?? [];
    const declared: WorldSymbol[] = head.render_spec.symbols ?? [];
    this.symbols = new Map(declared.map((symbol) => [symbol.name, symbol]));
  }

  symbol(name: string): WorldSymbol | undefined { return this.symbols.get(name); }

  label(name: string): string { return this.symbols.get(name)?.label || name.replace(/_/g, " "); }

  group(index: number): GroupStyle {
    const symbol = this.symbols.get(this.groups[index]);
    const { colour, shape } = defaultGroupStyle(index);
    return { colour: symbol?.colour ? forTheme(namedColour(symbol.colour)) : colour, shape: SHAPES.includes(symbol?.shape as Shape) ? (symbol!.shape as Shape) : shape };
  }

  /** The colour of an owner of cells: a group, or a side without agents. */
  owner(name: string): string {
    const index = this.groups.indexOf(name);
    if (index >= 0) return this.group(index).colour;
    const colour = this.symbols.get(name)?.colour;
    return forTheme(colour ? namedColour(colour) : VERMILLION);
  }

  /** The colour of a line of a chart: of the group, owner or thing that it is named after, else a free one. */
  line(name: string, index: number): string {
    if (this.groups.includes(name) || this.owners.includes(name)) return this.owner(name);
    const colour = this.symbols.get(name)?.colour;
    if (colour) return forTheme(namedColour(colour));
    const used = this.groups.map((_, i) => this.group(i).colour);
    const free = LINE_COLOURS.map(forTheme).filter((candidate) => !used.includes(candidate));
    return free[index % free.length];
  }

  /** How a kind of cell is drawn; one that its world says nothing about is a tile, the first kind the ground. */
  shape(kind: string, code: number): string {
    const known = this.symbols.get(kind)?.shape;
    if (known) return known;
    return kind === "wall" ? "wall" : code === 0 ? "ground" : "tile";
  }

  /** The colour of a kind of cell that nobody owns. */
  cellColour(kind: string, colours: ColourScheme): Rgb {
    const colour = this.symbols.get(kind)?.colour;
    return colour ? rgb(namedColour(colour)) : GREYS[colours.dark ? "dark" : "light"];
  }

  /** The colour of a cell below its symbol. */
  cellGround(ground: Rgb, colour: Rgb, shape: string, fill: number): Rgb {
    const [least, more] = CELL_SHARES[shape] ?? CELL_SHARES.tile;
    return mix(ground, colour, least + more * fill);
  }

  /** The letter or sign on a thing; that of an unknown tile is its first. */
  letter(name: string): string {
    const symbol = this.symbols.get(name);
    return symbol ? symbol.letter : name[0]?.toUpperCase() ?? "";
  }

  size(name: string): number { return this.symbols.get(name)?.size || 1; }

  /** The attribute that is drawn in some way, such as `letter`. */
  attribute(drawnAs: string): any | undefined { return this.head.render_spec.attributes.find((spec: any) => spec.drawn_as === drawnAs); }
}
