// The terrain: one pixel per cell, coloured by the codes of the world's layers. The browser scales it up.

import { colourScheme, mix, namedColour, rgb, type ColourScheme, type Rgb } from "./palette";
import type { WorldStyle } from "./world_style";

/** Something on the map that is drawn as a sprite: a hub, a junction, an extractor... */
export interface MapObject { cell: number; kind: string; shape: string; owner: string | null; fill: number }

const AREA_OPACITY = 0.17;

function pixel([r, g, b]: Rgb): number { return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; }

// Colours are cached by a cell's codes: kind 5 bits, owner 3, area 5, amount 4.
const OWNER_SHIFT = 5, AREA_SHIFT = 8, AMOUNT_SHIFT = 13, CACHE_SIZE = 1 << 17;
const TERRAIN_SHAPES = ["ground", "wall", "amount"]; // not drawn as sprites

export class Terrain {
  readonly canvas = document.createElement("canvas");
  readonly objects: MapObject[] = []; // of the frame that was drawn last
  private image: ImageData;
  private pixels: Uint32Array;
  private layers = new Map<string, { start: number; spec: any }>();
  private cache = new Uint32Array(CACHE_SIZE); // 0: not computed yet
  private colours!: ColourScheme;
  private size: number;
  private shapes: string[]; // of each kind

  constructor(head: any, private style: WorldStyle) {
    const { width, height, layers } = head.render_spec;
    this.size = width * height;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    layers.forEach((spec: any, i: number) => this.layers.set(spec.name, { start: i * this.size, spec }));
    this.shapes = this.layers.get("kind")!.spec.labels.map((kind: string, code: number) => style.shape(kind, code));
    this.recolour();
  }

  /** Use the colours of the current theme from now on. */
  recolour(): void {
    this.colours = colourScheme();
    this.cache.fill(0);
  }

  private get maxAmount(): number { return this.layers.get("amount")?.spec.max_value || 1; }

  private colour(code: number, kind: string, owner: number, area: number, amount: number): Rgb {
    let ground = this.colours.ground;
    const sides: string[] = this.layers.get("area")?.spec.labels ?? [];
    sides.forEach((side, i) => {
      if (area & (1 << i)) ground = mix(ground, rgb(this.style.owner(side)), AREA_OPACITY);
    });
    const shape = this.shapes[code];
    if (shape === "wall") return this.colours.wall;
    if (shape === "ground") return ground;
    const fill = amount / this.maxAmount;
    if (shape === "amount") {
      const colour = this.style.symbol(kind)?.colour;
      return mix(this.colours.bare, colour && colour !== "grass" ? rgb(namedColour(colour)) : this.colours.grass, fill);
    }
    const side = this.ownerName(owner);
    return this.style.cellGround(ground, side ? rgb(this.style.owner(side)) : this.style.cellColour(kind, this.colours), shape, fill);
  }

  private ownerName(code: number): string | null {
    return code > 0 ? this.layers.get("owner")!.spec.labels[code] : null;
  }

  draw(cells: Uint8Array): void {
    const start = (name: string) => this.layers.get(name)?.start ?? -1;
    const [kindStart, ownerStart, areaStart, amountStart] = ["kind", "owner", "area", "amount"].map(start);
    const names: string[] = this.layers.get("kind")!.spec.labels;
    const isTerrain = this.shapes.map((shape) => TERRAIN_SHAPES.includes(shape));
    const { maxAmount } = this;
    this.objects.length = 0;
    for (let cell = 0; cell < this.size; cell++) {
      const kind = cells[kindStart + cell];
      const owner = ownerStart < 0 ? 0 : cells[ownerStart + cell];
      const area = areaStart < 0 ? 0 : cells[areaStart + cell];
      const amount = amountStart < 0 ? 0 : cells[amountStart + cell];
      const key = kind | (owner << OWNER_SHIFT) | (area << AREA_SHIFT) | (amount << AMOUNT_SHIFT);
      this.pixels[cell] = this.cache[key] || (this.cache[key] = pixel(this.colour(kind, names[kind], owner, area, amount)));
      if (!isTerrain[kind]) this.objects.push({ cell, kind: names[kind], shape: this.shapes[kind], owner: this.ownerName(owner), fill: amount / maxAmount });
    }
    this.canvas.getContext("2d")!.putImageData(this.image, 0, 0);
  }
}
