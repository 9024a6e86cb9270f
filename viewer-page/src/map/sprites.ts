// Sprites: small canvases that are drawn once and copied many times, so that a thousand agents are cheap.

import { colourScheme } from "./palette";
import type { GroupStyle, Shape } from "./world_style";

const MAX_SPRITES = 2000;
export const MIN_LETTER_SIDE = 12; // pixels of an agent that a letter can be read on
const cache = new Map<string, HTMLCanvasElement>();

/** Drop all sprites: the colours have changed. */
export function clearSprites(): void { cache.clear(); }

function cachedSprite(key: string, size: number, draw: (pen: CanvasRenderingContext2D, size: number) => void): HTMLCanvasElement {
  let sprite = cache.get(key);
  if (!sprite) {
    if (cache.size > MAX_SPRITES) cache.clear();
    sprite = document.createElement("canvas");
    sprite.width = sprite.height = Math.max(1, Math.ceil(size));
    draw(sprite.getContext("2d")!, size);
    cache.set(key, sprite);
  }
  return sprite;
}

function traceShape(pen: CanvasRenderingContext2D, shape: Shape, x: number, y: number, r: number): void {
  pen.beginPath();
  if (shape === "circle") pen.arc(x, y, r, 0, 7);
  else {
    const corners = { triangle: [-90, 30, 150], square: [45, 135, 225, 315], diamond: [0, 90, 180, 270] }[shape];
    const reach = shape === "triangle" ? 1.22 * r : shape === "square" ? 1.2 * r : 1.15 * r;
    const down = shape === "triangle" ? 0.15 * r : 0;
    for (const corner of corners) {
      const angle = (corner * Math.PI) / 180;
      pen.lineTo(x + reach * Math.cos(angle), y + down + reach * Math.sin(angle));
    }
    pen.closePath();
  }
}

/** An agent: its size grows with `fill` (0 to 1), `mark` is a letter on it, and a dead one is a cross. */
export function agentSprite(style: GroupStyle, size: number, fill: number, mark: string, dead: boolean): HTMLCanvasElement {
  const level = Math.round(fill * 4) / 4; // few levels, so that sprites are shared
  const { paper } = colourScheme();
  const key = `a ${style.shape} ${style.colour} ${size.toFixed(1)} ${level} ${mark} ${dead} ${paper}`;
  return cachedSprite(key, size, (pen, side) => {
    const [middle, r] = [side / 2, side * (0.3 + 0.13 * level)];
    if (dead) {
      pen.strokeStyle = style.colour;
      pen.lineWidth = Math.max(1, side * 0.12);
      pen.beginPath();
      for (const sign of [1, -1]) {
        pen.moveTo(middle - r, middle - sign * r);
        pen.lineTo(middle + r, middle + sign * r);
      }
      pen.stroke();
      return;
    }
    traceShape(pen, style.shape, middle, middle, r);
    pen.fillStyle = style.colour;
    pen.fill();
    if (side >= 7) {
      pen.strokeStyle = paper;
      pen.lineWidth = Math.max(0.75, side * 0.05);
      pen.stroke();
    }
    if (mark && side >= MIN_LETTER_SIDE) drawLetter(pen, mark, middle, side * 0.54, "#fff");
  });
}

function drawLetter(pen: CanvasRenderingContext2D, text: string, middle: number, size: number, colour: string): void {
  pen.fillStyle = colour;
  pen.font = `600 ${size}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, middle, middle + size * 0.06);
}

export interface ObjectStyle { shape: string; colour: string; letter: string; owned: boolean }

/** An object of the map: a rounded square with its letter, or a diamond, hollow without an owner; `fill` is 0 to 1. */
export function objectSprite({ shape, colour, letter, owned }: ObjectStyle, size: number, fill: number): HTMLCanvasElement {
  const level = Math.ceil(fill * 4);
  return cachedSprite(`o ${shape} ${letter} ${colour} ${owned} ${size.toFixed(1)} ${level}`, size, (pen, side) => {
    const middle = side / 2;
    if (shape === "diamond") {
      traceShape(pen, "diamond", middle, middle, side * 0.36);
      pen.fillStyle = pen.strokeStyle = colour;
      pen.lineWidth = Math.max(1, side * 0.12);
      if (owned) pen.fill();
      pen.stroke();
      return;
    }
    pen.globalAlpha = shape === "stock" && level === 0 ? 0.3 : 1;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.roundRect(side * 0.1, side * 0.1, side * 0.8, side * 0.8, side * 0.18);
    pen.fill();
    if (side >= 9) drawLetter(pen, letter, middle, side * 0.62, "#fff");
  });
}
