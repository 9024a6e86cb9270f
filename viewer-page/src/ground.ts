// The ground: one pixel per cell, looked up from what the layers say. The browser scales it up.

import { mix, rgb, scheme, sideColour, thingColour, type Rgb, type Scheme } from "./palette";

export interface Thing { cell: number; kind: string; owner: string | null; amount: number }

const AREA_SHARE = 0.17;

function pixel([r, g, b]: Rgb): number { return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; }

// A cell is looked up by its codes: kind 5 bits, owner 3, area 5, amount 4.
const OWNER_AT = 5, AREA_AT = 8, AMOUNT_AT = 13, TABLE = 1 << 17;
const PLAIN = ["ground", "wall", "grass", "empty", "agent"];

export class Ground {
  readonly canvas = document.createElement("canvas");
  readonly things: Thing[] = [];
  private image: ImageData;
  private pixels: Uint32Array;
  private layers = new Map<string, { at: number; about: any }>();
  private table = new Uint32Array(TABLE); // 0: not worked out yet
  private paint!: Scheme;
  private size: number;

  constructor(private head: any) {
    const { width, height, layers } = head.render_spec;
    this.size = width * height;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    layers.forEach((about: any, i: number) => this.layers.set(about.name, { at: i * this.size, about }));
    this.recolour();
  }

  /** Take up the colours of the page anew: light or dark. */
  recolour(): void {
    this.paint = scheme();
    this.table.fill(0);
  }

  private colour(kind: string, owner: number, area: number, amount: number): Rgb {
    let ground = this.paint.ground;
    const sides: string[] = this.layers.get("area")?.about.labels ?? [];
    sides.forEach((side, i) => {
      if (area & (1 << i)) ground = mix(ground, rgb(sideColour(side, this.head.groups)), AREA_SHARE);
    });
    if (kind === "wall") return this.paint.wall;
    const share = amount / (this.layers.get("amount")?.about.max_value || 1);
    if (kind === "grass") return mix(this.paint.bare, this.paint.grass, share);
    if (PLAIN.includes(kind)) return ground;
    const side = this.ownerOf(owner);
    const own = side ? rgb(sideColour(side, this.head.groups)) : thingColour(kind, this.paint);
    return mix(ground, own, kind.endsWith("extractor") ? 0.15 + 0.45 * share : kind === "junction" ? 0.3 : 0.55);
  }

  private ownerOf(code: number): string | null {
    return code > 0 ? this.layers.get("owner")!.about.labels[code] : null;
  }

  draw(cells: Uint8Array): void {
    const at = (name: string) => this.layers.get(name)?.at ?? -1;
    const [kindAt, ownerAt, areaAt, amountAt] = ["kind", "owner", "area", "amount"].map(at);
    const names: string[] = this.layers.get("kind")!.about.labels;
    const isPlain = names.map((name) => PLAIN.includes(name));
    const most = this.layers.get("amount")?.about.max_value || 1;
    this.things.length = 0;
    for (let cell = 0; cell < this.size; cell++) {
      const kind = cells[kindAt + cell];
      const owner = ownerAt < 0 ? 0 : cells[ownerAt + cell];
      const area = areaAt < 0 ? 0 : cells[areaAt + cell];
      const amount = amountAt < 0 ? 0 : cells[amountAt + cell];
      const key = kind | (owner << OWNER_AT) | (area << AREA_AT) | (amount << AMOUNT_AT);
      this.pixels[cell] = this.table[key] || (this.table[key] = pixel(this.colour(names[kind], owner, area, amount)));
      if (!isPlain[kind]) this.things.push({ cell, kind: names[kind], owner: this.ownerOf(owner), amount: amount / most });
    }
    this.canvas.getContext("2d")!.putImageData(this.image, 0, 0);
  }
}
