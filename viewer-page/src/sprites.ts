// Small pictures drawn once and stamped many times: a thousand agents cost little that way.

import { scheme, thingMark, type Shape, type Style } from "./palette";

const made = new Map<string, HTMLCanvasElement>();

export function forgetSprites(): void { made.clear(); }

function sprite(key: string, size: number, draw: (pen: CanvasRenderingContext2D, size: number) => void): HTMLCanvasElement {
  let found = made.get(key);
  if (!found) {
    if (made.size > 2000) made.clear();
    found = document.createElement("canvas");
    found.width = found.height = Math.max(1, Math.ceil(size));
    draw(found.getContext("2d")!, size);
    made.set(key, found);
  }
  return found;
}

export function trace(pen: CanvasRenderingContext2D, shape: Shape, x: number, y: number, r: number): void {
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

/** An agent; `share` of its full size, `mark` a letter on it, `dead` a cross instead. */
export function agentSprite(style: Style, size: number, share: number, mark: string, dead: boolean): HTMLCanvasElement {
  const step = Math.round(share * 4) / 4;
  const paper = scheme().paper;
  const key = `a ${style.shape} ${style.colour} ${size.toFixed(1)} ${step} ${mark} ${dead} ${paper}`;
  return sprite(key, size, (pen, side) => {
    const [middle, r] = [side / 2, side * (0.3 + 0.13 * step)];
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
    trace(pen, style.shape, middle, middle, r);
    pen.fillStyle = style.colour;
    pen.fill();
    if (side >= 7) {
      pen.strokeStyle = paper;
      pen.lineWidth = Math.max(0.75, side * 0.05);
      pen.stroke();
    }
    if (mark && side >= 13) letter(pen, mark, middle, side * 0.5, "#fff");
  });
}

function letter(pen: CanvasRenderingContext2D, text: string, middle: number, size: number, colour: string): void {
  pen.fillStyle = colour;
  pen.font = `600 ${size}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, middle, middle + size * 0.06);
}

/** A thing on the map: a rounded plate with its letter; junctions are diamonds, hollow if nobody's. */
export function thingSprite(kind: string, colour: string, owned: boolean, size: number, full: number): HTMLCanvasElement {
  const level = Math.ceil(full * 4);
  return sprite(`t ${kind} ${colour} ${owned} ${size.toFixed(1)} ${level}`, size, (pen, side) => {
    const middle = side / 2;
    if (kind === "junction") {
      trace(pen, "diamond", middle, middle, side * 0.36);
      pen.fillStyle = pen.strokeStyle = colour;
      pen.lineWidth = Math.max(1, side * 0.12);
      if (owned) pen.fill();
      pen.stroke();
      return;
    }
    pen.globalAlpha = kind.endsWith("extractor") && level === 0 ? 0.3 : 1;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.roundRect(side * 0.1, side * 0.1, side * 0.8, side * 0.8, side * 0.18);
    pen.fill();
    if (side >= 9) letter(pen, thingMark(kind), middle, side * 0.62, "#fff");
  });
}
