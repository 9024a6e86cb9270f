// The map: terrain, and over it the objects and agents of one frame, with a camera.

import type { Chunk, Replay } from "../data/replay";
import { DensityMap, FADED_WEIGHT } from "./density";
import { colourScheme, rgb } from "./palette";
import { agentSprite, MIN_LETTER_SIDE, objectSprite } from "./sprites";
import { Terrain } from "./terrain";
import { WorldStyle, type GroupStyle } from "./world_style";

export interface Highlight { selected: number | null; marked: Set<number> | null; viewRadius: boolean }

const FADED_OPACITY = FADED_WEIGHT;
const MIN_SPRITE_SCALE = 6; // pixels per cell below which agents are plain shapes
const MIN_OBJECT_SCALE = 5; // pixels per cell below which objects and energy are not drawn
const MAX_DENSITY_SCALE = 3; // pixels per cell above which every agent is drawn
const MANY_AGENTS = 20_000; // of which the density is drawn when zoomed out
const MAX_GLIDE = 4; // cells; a longer move between two frames is a jump, such as a birth
const MIN_OBJECT_SIDE = 11; // pixels of an object whose letter can be read; it may stand out of its cell
const FEW_AGENTS = 150; // that are drawn large enough for their letters, wherever the camera is

export class MapView {
  readonly terrain: Terrain;
  readonly overlay = document.createElement("canvas");
  private pen: CanvasRenderingContext2D;
  readonly style: WorldStyle;
  private styles: GroupStyle[];
  private density = new DensityMap();
  private scale = 1; // CSS pixels per cell
  private left = 0;
  private top = 0;
  private fitted = true;
  private drawn: [Chunk, number] | null = null;
  width: number;
  height: number;
  private boxWidth = 0; // in CSS pixels, cached: reading it for each frame would cost more than drawing
  private boxHeight = 0;

  constructor(readonly box: HTMLElement, readonly replay: Replay) {
    const { render_spec: spec, groups } = replay.head;
    [this.width, this.height] = [spec.width, spec.height];
    this.style = new WorldStyle(replay.head);
    this.terrain = new Terrain(replay.head, this.style);
    this.terrain.canvas.className = "terrain";
    this.overlay.className = "overlay";
    this.overlay.setAttribute("role", "img");
    this.overlay.setAttribute("aria-label", `Map of ${replay.head.world}, ${replay.label}`);
    this.pen = this.overlay.getContext("2d")!;
    this.styles = groups.map((_: string, i: number) => this.style.group(i));
    box.replaceChildren(this.terrain.canvas, this.overlay);
    new ResizeObserver(() => this.resize()).observe(box);
    this.resize();
  }

  /** Adapt the canvas and the camera to the size of the box. */
  resize(): void {
    const ratio = window.devicePixelRatio || 1;
    [this.boxWidth, this.boxHeight] = [this.box.clientWidth, this.box.clientHeight];
    this.overlay.width = Math.round(this.boxWidth * ratio);
    this.overlay.height = Math.round(this.boxHeight * ratio);
    if (this.fitted) this.fit();
    this.onCamera();
  }

  onCamera: () => void = () => {};

  /** Show the whole map. */
  fit(): void {
    const { boxWidth, boxHeight } = this;
    this.scale = this.fittingScale();
    this.left = (boxWidth - this.width * this.scale) / 2;
    this.top = (boxHeight - this.height * this.scale) / 2;
    this.fitted = true;
  }

  /** Pixels to the left of the whole map. */
  get gutter(): number { return (this.boxWidth - this.width * this.fittingScale()) / 2; }

  /** The scale at which the whole map is shown; below 1 only for maps with more cells than pixels. */
  private fittingScale(): number {
    const scale = Math.min(this.boxWidth / this.width, this.boxHeight / this.height) * 0.98;
    return this.isHuge ? scale : Math.max(1, scale);
  }

  private get isHuge(): boolean { return Math.max(this.width, this.height) >= 500; }

  zoom(factor: number, x = this.boxWidth / 2, y = this.boxHeight / 2): void {
    const scale = Math.min(96, Math.max(Math.min(1, this.fittingScale()), this.scale * factor));
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.fitted = false;
    this.onCamera();
  }

  pan(dx: number, dy: number): void {
    this.left += dx;
    this.top += dy;
    this.fitted = false;
    this.onCamera();
  }

  /** Centre the camera on a cell unless it lies near the middle already; zoom in from the whole map. */
  centreOn(column: number, row: number): void {
    const { boxWidth, boxHeight } = this;
    if (this.fitted && this.scale < 14) this.scale = 20;
    const [x, y] = [this.left + (column + 0.5) * this.scale, this.top + (row + 0.5) * this.scale];
    const isCentral = !this.fitted && x > boxWidth * 0.3 && x < boxWidth * 0.7 && y > boxHeight * 0.3 && y < boxHeight * 0.7;
    if (isCentral) return;
    this.left += boxWidth / 2 - x;
    this.top += boxHeight / 2 - y;
    this.fitted = false;
  }

  /** Draw a frame; agents are drawn at the fraction `progress` of their way to the next frame. */
  draw(chunk: Chunk, frame: number, highlight: Highlight, progress = 0): void {
    if (!this.drawn || this.drawn[0] !== chunk || this.drawn[1] !== frame) {
      this.terrain.draw(chunk.cellsAt(frame));
      this.drawn = [chunk, frame];
    }
    const ratio = window.devicePixelRatio || 1;
    this.terrain.canvas.style.transform = `translate(${this.left}px, ${this.top}px) scale(${this.scale})`;
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.clearRect(0, 0, this.overlay.width, this.overlay.height);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawObjects(ratio);
    const isAggregated = this.scale < MAX_DENSITY_SCALE && chunk.rows >= MANY_AGENTS && this.drawDensity(chunk, frame, highlight);
    if (!isAggregated) this.drawAgents(chunk, frame, highlight, progress, ratio);
    this.overlay.dataset.agents = isAggregated ? "density" : "each";
  }

  /** Draw how many agents of each group are where, if there are very many; else return false. */
  private drawDensity(chunk: Chunk, frame: number, highlight: Highlight): boolean {
    const [uid, state, group, cell] = ["uid", "state", "group", "cell"].map((name) => chunk.column(name, frame));
    let alive = 0;
    for (let row = 0; row < chunk.rows; row++) if (state[row] === 1) alive++;
    if (alive < MANY_AGENTS) return false;
    const { marked, selected } = highlight;
    const { left, top, scale } = this;
    const camera = { left, top, scale, width: this.boxWidth, height: this.boxHeight };
    this.density.count(this.styles.length, camera, this.width, cell, group, (row) =>
      state[row] !== 1 ? 0 : marked === null || marked.has(uid[row]) ? 1 : FADED_WEIGHT);
    this.density.draw(this.pen, this.styles, scale);
    const row = selected === null ? -1 : uid.indexOf(selected);
    if (row >= 0 && state[row]) this.drawSelection(cell[row] % this.width, Math.floor(cell[row] / this.width), group[row], highlight.viewRadius);
    return true;
  }

  /** Use the colours of the current theme from now on. */
  recolour(): void {
    this.terrain.recolour();
    this.styles = this.styles.map((_, i) => this.style.group(i));
    this.drawn = null;
    this.onRecolour();
  }

  onRecolour: () => void = () => {};

  private drawSprite(sprite: HTMLCanvasElement, column: number, row: number, side: number): void {
    const x = this.left + (column + 0.5) * this.scale - side / 2;
    const y = this.top + (row + 0.5) * this.scale - side / 2;
    if (x > -side && y > -side && x < this.boxWidth && y < this.boxHeight) this.pen.drawImage(sprite, x, y, side, side);
  }

  private drawObjects(ratio: number): void {
    if (this.scale < MIN_OBJECT_SCALE) return;
    const colours = colourScheme();
    for (const { cell, kind, shape, owner, fill } of this.terrain.objects) {
      const colour = owner ? this.style.owner(owner) : `rgb(${this.style.cellColour(kind, colours).join(",")})`;
      const side = Math.max(this.scale, MIN_OBJECT_SIDE) * this.style.size(kind);
      const sprite = objectSprite({ shape, colour, letter: this.style.letter(kind), owned: owner !== null }, side * ratio, fill);
      this.drawSprite(sprite, cell % this.width, Math.floor(cell / this.width), side);
    }
  }

  private drawAgents(chunk: Chunk, frame: number, highlight: Highlight, progress: number, ratio: number): void {
    const [uid, state, group, cell] = ["uid", "state", "group", "cell"].map((name) => chunk.column(name, frame));
    const next = progress > 0 && frame + 1 < chunk.first + chunk.count ? frame + 1 : null;
    const [uidNext, cellNext] = next === null ? [uid, cell] : [chunk.column("uid", next), chunk.column("cell", next)];
    const fill = this.attributeFill(chunk, frame);
    const marks = this.letters(chunk, frame);
    const cross = this.style.attribute("cross");
    const dead = cross ? chunk.column(`attribute/${cross.name}`, frame) : null;
    const hasLetters = marks !== null && chunk.rows <= FEW_AGENTS;
    const side = Math.max(this.scale * 1.1, hasLetters ? MIN_LETTER_SIDE + 1 : 4.2);
    const asShapes = this.scale < MIN_SPRITE_SCALE && !hasLetters;
    const shapes = new Map<string, Path2D>();
    for (let row = 0; row < chunk.rows; row++) {
      if (!state[row]) continue;
      let [x, y] = [cell[row] % this.width, Math.floor(cell[row] / this.width)];
      if (uidNext[row] === uid[row] && cellNext[row] !== cell[row]) {
        const [toX, toY] = [cellNext[row] % this.width, Math.floor(cellNext[row] / this.width)];
        if (Math.abs(toX - x) < MAX_GLIDE && Math.abs(toY - y) < MAX_GLIDE) {
          x += (toX - x) * progress;
          y += (toY - y) * progress;
        }
      }
      const isMarked = highlight.marked?.has(uid[row]) ?? false;
      const isSelected = uid[row] === highlight.selected;
      const faded = highlight.marked !== null && !isMarked && !isSelected;
      const isDead = state[row] === 2 || dead?.[row] === 1;
      if (asShapes && !isDead) {
        this.addShape(shapes, group[row], faded, x, y, side);
      } else {
        this.pen.globalAlpha = faded ? FADED_OPACITY : 1;
        this.drawSprite(agentSprite(this.styles[group[row]], side * ratio, fill ? fill[row] : 1, marks ? marks[row] : "", isDead), x, y, side);
      }
      if (isMarked) this.drawRing(x, y, 0.46, colourScheme().ink, 1.4);
      if (isSelected) this.drawSelection(x, y, group[row], highlight.viewRadius);
    }
    for (const [key, path] of shapes) {
      this.pen.globalAlpha = key.endsWith("faded") ? FADED_OPACITY : 1;
      this.pen.fillStyle = this.styles[parseInt(key)].colour;
      this.pen.fill(path);
    }
    this.pen.globalAlpha = 1;
  }

  /** When zoomed out, the agents of a group form one path, which is filled at once: many times faster. */
  private addShape(shapes: Map<string, Path2D>, group: number, faded: boolean, column: number, row: number, side: number): void {
    const x = this.left + (column + 0.5) * this.scale;
    const y = this.top + (row + 0.5) * this.scale;
    if (x < -side || y < -side || x > this.boxWidth + side || y > this.boxHeight + side) return;
    const key = `${group} ${faded ? "faded" : ""}`;
    let path = shapes.get(key);
    if (!path) shapes.set(key, (path = new Path2D()));
    const r = side * 0.44;
    if (this.styles[group].shape === "triangle") {
      path.moveTo(x, y - 1.2 * r);
      path.lineTo(x + 1.1 * r, y + 0.8 * r);
      path.lineTo(x - 1.1 * r, y + 0.8 * r);
      path.closePath();
    } else path.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r);
  }

  private drawSelection(x: number, y: number, group: number, withViewRadius: boolean): void {
    this.pen.globalAlpha = 1;
    this.drawRing(x, y, 0.56, colourScheme().ink, 2.2);
    const radius = this.replay.head.render_spec.view_radius[group];
    if (!withViewRadius || !radius) return;
    const side = (2 * radius + 1) * this.scale;
    const [left, top] = [this.left + (x - radius) * this.scale, this.top + (y - radius) * this.scale];
    const [r, g, b] = rgb(this.styles[group].colour);
    this.pen.fillStyle = `rgba(${r},${g},${b},0.09)`;
    this.pen.strokeStyle = `rgba(${r},${g},${b},0.8)`;
    this.pen.lineWidth = 1.25;
    this.pen.setLineDash([5, 4]);
    this.pen.fillRect(left, top, side, side);
    this.pen.strokeRect(left, top, side, side);
    this.pen.setLineDash([]);
  }

  private drawRing(x: number, y: number, radius: number, colour: string, width: number): void {
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = width;
    this.pen.beginPath();
    this.pen.arc(this.left + (x + 0.5) * this.scale, this.top + (y + 0.5) * this.scale, Math.max(4, radius * this.scale), 0, 7);
    this.pen.stroke();
  }

  /** Each row's value of the attribute that is drawn as its size, as a fraction of the maximum; null if none is. */
  private attributeFill(chunk: Chunk, frame: number): Float32Array | null {
    const attribute = this.style.attribute("size");
    if (!attribute?.max_value || this.scale < MIN_OBJECT_SCALE) return null;
    const full = attribute.max_value * attribute.scale;
    return Float32Array.from(chunk.column(`attribute/${attribute.name}`, frame), (value) => Math.min(1, Math.max(0, value / full)));
  }

  /** The letter on each row's agent; null if agents have none. */
  private letters(chunk: Chunk, frame: number): string[] | null {
    const attribute = this.style.attribute("letter");
    if (!attribute) return null;
    const letters: string[] = attribute.labels.map((label: string) => this.style.symbol(label)?.letter ?? "");
    return Array.from(chunk.column(`attribute/${attribute.name}`, frame), (code) => letters[code] ?? "");
  }

  /** The column and row of a point of the box. */
  cellAt(x: number, y: number): [number, number] {
    return [(x - this.left) / this.scale - 0.5, (y - this.top) / this.scale - 0.5];
  }

  /** The uid of the agent nearest to a point of the box, null if none is near. */
  pick(chunk: Chunk, frame: number, x: number, y: number): number | null {
    const [column, row] = this.cellAt(x, y);
    const [uid, state, cell] = ["uid", "state", "cell"].map((name) => chunk.column(name, frame));
    let [nearest, least] = [null as number | null, Math.max(0.9, 8 / this.scale)];
    for (let i = 0; i < chunk.rows; i++) {
      if (!state[i]) continue;
      const distance = Math.hypot((cell[i] % this.width) - column, Math.floor(cell[i] / this.width) - row);
      if (distance < least) [nearest, least] = [uid[i], distance];
    }
    return nearest;
  }
}
