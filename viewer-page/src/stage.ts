// The stage: the ground, and over it the things and agents of one frame, with a camera.

import { Ground } from "./ground";
import { groupStyle, rgb, scheme, sideColour, thingColour, type Style } from "./palette";
import type { Chunk, Replay } from "./replay";
import { agentSprite, thingSprite } from "./sprites";

export interface Highlight { selected: number | null; marked: Set<number> | null; sight: boolean }

const FADED = 0.22;
const TINY = 6; // pixels of a cell below which agents are plain shapes
const GEAR_MARKS: Record<string, string> = { aligner: "A", scrambler: "R", miner: "M", scout: "T" };

export class Stage {
  readonly ground: Ground;
  readonly overlay = document.createElement("canvas");
  private pen: CanvasRenderingContext2D;
  private styles: Style[];
  private scale = 1; // CSS pixels per cell
  private left = 0;
  private top = 0;
  private fitted = true;
  private drawn: [Chunk, number] | null = null;
  width: number;
  height: number;
  private across = 0; // of the box, in CSS pixels: asking for it each time would cost more than drawing
  private down = 0;

  constructor(readonly box: HTMLElement, private replay: Replay) {
    const { render_spec: spec, groups } = replay.head;
    [this.width, this.height] = [spec.width, spec.height];
    this.ground = new Ground(replay.head);
    this.ground.canvas.className = "ground";
    this.overlay.className = "overlay";
    this.overlay.setAttribute("role", "img");
    this.overlay.setAttribute("aria-label", `The ${replay.head.world} of ${replay.label}`);
    this.pen = this.overlay.getContext("2d")!;
    this.styles = groups.map(groupStyle);
    box.replaceChildren(this.ground.canvas, this.overlay);
    new ResizeObserver(() => this.resize()).observe(box);
    this.resize();
  }

  /** Tell the camera that the box has another size. */
  resize(): void {
    const ratio = window.devicePixelRatio || 1;
    [this.across, this.down] = [this.box.clientWidth, this.box.clientHeight];
    this.overlay.width = Math.round(this.across * ratio);
    this.overlay.height = Math.round(this.down * ratio);
    if (this.fitted) this.fit();
    this.onCamera();
  }

  onCamera: () => void = () => {};

  fit(): void {
    const { across, down } = this;
    this.scale = Math.max(1, Math.min(across / this.width, down / this.height) * 0.98);
    this.left = (across - this.width * this.scale) / 2;
    this.top = (down - this.height * this.scale) / 2;
    this.fitted = true;
  }

  zoom(factor: number, x = this.across / 2, y = this.down / 2): void {
    const scale = Math.min(96, Math.max(1, this.scale * factor));
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

  /** Bring a cell to the middle, if it lies outside the inner half; closer if all is tiny. */
  centre(column: number, row: number): void {
    const { across, down } = this;
    if (this.fitted && this.scale < 14) this.scale = 20;
    const [x, y] = [this.left + (column + 0.5) * this.scale, this.top + (row + 0.5) * this.scale];
    const inside = !this.fitted && x > across * 0.3 && x < across * 0.7 && y > down * 0.3 && y < down * 0.7;
    if (inside) return;
    this.left += across / 2 - x;
    this.top += down / 2 - y;
    this.fitted = false;
  }

  /** Draw a frame; `ahead` is the share of the way to the next one, for smooth motion. */
  draw(chunk: Chunk, frame: number, high: Highlight, ahead = 0): void {
    if (!this.drawn || this.drawn[0] !== chunk || this.drawn[1] !== frame) {
      this.ground.draw(chunk.cellsAt(frame));
      this.drawn = [chunk, frame];
    }
    const ratio = window.devicePixelRatio || 1;
    this.ground.canvas.style.transform = `translate(${this.left}px, ${this.top}px) scale(${this.scale})`;
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.clearRect(0, 0, this.overlay.width, this.overlay.height);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawThings(ratio);
    this.drawAgents(chunk, frame, high, ahead, ratio);
  }

  recolour(): void {
    this.ground.recolour();
    this.styles = this.replay.head.groups.map(groupStyle);
    this.drawn = null;
  }

  private stamp(picture: HTMLCanvasElement, column: number, row: number, side: number): void {
    const x = this.left + (column + 0.5) * this.scale - side / 2;
    const y = this.top + (row + 0.5) * this.scale - side / 2;
    if (x > -side && y > -side && x < this.across && y < this.down) this.pen.drawImage(picture, x, y, side, side);
  }

  private drawThings(ratio: number): void {
    if (this.scale < 5) return;
    const paint = scheme();
    for (const { cell, kind, owner, amount } of this.ground.things) {
      const plain = thingColour(kind, paint);
      const colour = owner ? sideColour(owner, this.replay.head.groups) : `rgb(${plain.join(",")})`;
      const side = this.scale * (kind === "hub" ? 1.5 : 1);
      this.stamp(thingSprite(kind, colour, owner !== null, side * ratio, amount), cell % this.width, Math.floor(cell / this.width), side);
    }
  }

  private drawAgents(chunk: Chunk, frame: number, high: Highlight, ahead: number, ratio: number): void {
    const [uid, state, group, cell] = ["uid", "state", "group", "cell"].map((name) => chunk.column(name, frame));
    const next = ahead > 0 && frame + 1 < chunk.first + chunk.count ? frame + 1 : null;
    const [uidNext, cellNext] = next === null ? [uid, cell] : [chunk.column("uid", next), chunk.column("cell", next)];
    const energy = this.traitShare(chunk, frame, "energy");
    const marks = this.gearMarks(chunk, frame);
    const carcass = chunk.has("attribute/body") ? chunk.column("attribute/body", frame) : null;
    const side = Math.max(this.scale * 1.1, 4.2);
    const tiny = this.scale < TINY;
    const crowds = new Map<string, Path2D>();
    for (let row = 0; row < chunk.rows; row++) {
      if (!state[row]) continue;
      let [x, y] = [cell[row] % this.width, Math.floor(cell[row] / this.width)];
      if (uidNext[row] === uid[row] && cellNext[row] !== cell[row]) {
        const [toX, toY] = [cellNext[row] % this.width, Math.floor(cellNext[row] / this.width)];
        if (Math.abs(toX - x) < 4 && Math.abs(toY - y) < 4) {
          x += (toX - x) * ahead;
          y += (toY - y) * ahead;
        }
      }
      const isMarked = high.marked?.has(uid[row]) ?? false;
      const isSelected = uid[row] === high.selected;
      const faded = high.marked !== null && !isMarked && !isSelected;
      const dead = state[row] === 2 || carcass?.[row] === 1;
      if (tiny && !dead) {
        this.dot(crowds, group[row], faded, x, y, side);
      } else {
        this.pen.globalAlpha = faded ? FADED : 1;
        this.stamp(agentSprite(this.styles[group[row]], side * ratio, energy ? energy[row] : 1, marks ? marks[row] : "", dead), x, y, side);
      }
      if (isMarked) this.ring(x, y, 0.46, scheme().ink, 1.4);
      if (isSelected) this.select(x, y, group[row], high.sight);
    }
    for (const [key, crowd] of crowds) {
      this.pen.globalAlpha = key.endsWith("faded") ? FADED : 1;
      this.pen.fillStyle = this.styles[parseInt(key)].colour;
      this.pen.fill(crowd);
    }
    this.pen.globalAlpha = 1;
  }

  /** From afar, all agents of a group are one path: filled at once, which is many times quicker. */
  private dot(crowds: Map<string, Path2D>, group: number, faded: boolean, column: number, row: number, side: number): void {
    const x = this.left + (column + 0.5) * this.scale;
    const y = this.top + (row + 0.5) * this.scale;
    if (x < -side || y < -side || x > this.across + side || y > this.down + side) return;
    const key = `${group} ${faded ? "faded" : ""}`;
    let crowd = crowds.get(key);
    if (!crowd) crowds.set(key, (crowd = new Path2D()));
    const r = side * 0.44;
    if (this.styles[group].shape === "triangle") {
      crowd.moveTo(x, y - 1.2 * r);
      crowd.lineTo(x + 1.1 * r, y + 0.8 * r);
      crowd.lineTo(x - 1.1 * r, y + 0.8 * r);
      crowd.closePath();
    } else crowd.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r);
  }

  private select(x: number, y: number, group: number, sight: boolean): void {
    this.pen.globalAlpha = 1;
    this.ring(x, y, 0.56, scheme().ink, 2.2);
    const reach = this.replay.head.render_spec.view_radius[group];
    if (!sight || !reach) return;
    const side = (2 * reach + 1) * this.scale;
    const [left, top] = [this.left + (x - reach) * this.scale, this.top + (y - reach) * this.scale];
    const [r, g, b] = rgb(this.styles[group].colour);
    this.pen.fillStyle = `rgba(${r},${g},${b},0.09)`;
    this.pen.strokeStyle = `rgba(${r},${g},${b},0.8)`;
    this.pen.lineWidth = 1.25;
    this.pen.setLineDash([5, 4]);
    this.pen.fillRect(left, top, side, side);
    this.pen.strokeRect(left, top, side, side);
    this.pen.setLineDash([]);
  }

  private ring(x: number, y: number, share: number, colour: string, width: number): void {
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = width;
    this.pen.beginPath();
    this.pen.arc(this.left + (x + 0.5) * this.scale, this.top + (y + 0.5) * this.scale, Math.max(4, share * this.scale), 0, 7);
    this.pen.stroke();
  }

  private traitShare(chunk: Chunk, frame: number, name: string): Float32Array | null {
    const attribute = this.replay.head.render_spec.attributes.find((one: any) => one.name === name);
    if (!attribute?.max_value || this.scale < 5) return null;
    const most = attribute.max_value * attribute.scale;
    return Float32Array.from(chunk.column(`attribute/${name}`, frame), (value) => Math.min(1, Math.max(0, value / most)));
  }

  private gearMarks(chunk: Chunk, frame: number): string[] | null {
    const attribute = this.replay.head.render_spec.attributes.find((one: any) => one.name === "gear");
    if (!attribute) return null;
    return Array.from(chunk.column("attribute/gear", frame), (code) => GEAR_MARKS[attribute.labels[code]] ?? "");
  }

  /** Where a point of the box lies, in cells. */
  cellAt(x: number, y: number): [number, number] {
    return [(x - this.left) / this.scale - 0.5, (y - this.top) / this.scale - 0.5];
  }

  /** The uid of the agent nearest to a point of the box, if one is near. */
  pick(chunk: Chunk, frame: number, x: number, y: number): number | null {
    const [column, row] = this.cellAt(x, y);
    const [uid, state, cell] = ["uid", "state", "cell"].map((name) => chunk.column(name, frame));
    let [best, least] = [null as number | null, Math.max(0.9, 8 / this.scale)];
    for (let i = 0; i < chunk.rows; i++) {
      if (!state[i]) continue;
      const away = Math.hypot((cell[i] % this.width) - column, Math.floor(cell[i] / this.width) - row);
      if (away < least) [best, least] = [uid[i], away];
    }
    return best;
  }
}
