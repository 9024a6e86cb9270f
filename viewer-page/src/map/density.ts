// Very many agents at once: their density, per square of the screen and group, instead of every agent.

import { rgb } from "./palette";
import type { GroupStyle } from "./world_style";

export const BIN_SIDE = 3; // CSS pixels of a square
const MIN_OPACITY = 0.35; // of a square with a single agent
export const FADED_WEIGHT = 0.22; // of agents that are not marked while others are

/** Where the map lies on the screen, in CSS pixels. */
export interface Camera { left: number; top: number; scale: number; width: number; height: number }

export class DensityMap {
  private canvas = document.createElement("canvas");
  private weights = new Float32Array(0); // [group, square]
  private columns = 0;
  private rows = 0;

  /** Count the agents of a frame in the squares of the screen; `weight` is 0 for those that are not drawn. */
  count(groups: number, camera: Camera, mapWidth: number, cells: ArrayLike<number>, group: ArrayLike<number>, weight: (row: number) => number): void {
    [this.columns, this.rows] = [Math.ceil(camera.width / BIN_SIDE), Math.ceil(camera.height / BIN_SIDE)];
    const size = this.columns * this.rows;
    if (this.weights.length !== groups * size) this.weights = new Float32Array(groups * size);
    else this.weights.fill(0);
    for (let i = 0; i < cells.length; i++) {
      const value = weight(i);
      if (!value) continue;
      const line = Math.floor(cells[i] / mapWidth);
      const column = Math.floor((camera.left + (cells[i] - line * mapWidth + 0.5) * camera.scale) / BIN_SIDE);
      const row = Math.floor((camera.top + (line + 0.5) * camera.scale) / BIN_SIDE);
      if (column >= 0 && row >= 0 && column < this.columns && row < this.rows) {
        this.weights[group[i] * size + row * this.columns + column] += value;
      }
    }
  }

  /** Draw the squares: their colour mixes those of the groups, and is the denser the more agents they hold. */
  draw(pen: CanvasRenderingContext2D, styles: GroupStyle[], scale: number): void {
    const size = this.columns * this.rows;
    const colours = styles.map(({ colour }) => rgb(colour));
    const image = new ImageData(this.columns, this.rows);
    const full = Math.max(1, (BIN_SIDE / scale) ** 2 / 4); // agents of a square that is drawn fully opaque
    for (let i = 0; i < size; i++) {
      let [total, r, g, b] = [0, 0, 0, 0];
      for (let group = 0; group < colours.length; group++) {
        const weight = this.weights[group * size + i];
        if (!weight) continue;
        total += weight;
        r += weight * colours[group][0];
        g += weight * colours[group][1];
        b += weight * colours[group][2];
      }
      if (!total) continue;
      const opacity = Math.min(1, total) * Math.min(1, MIN_OPACITY + (1 - MIN_OPACITY) * (total / full));
      image.data.set([r / total, g / total, b / total, 255 * opacity], 4 * i);
    }
    this.canvas.width = this.columns;
    this.canvas.height = this.rows;
    this.canvas.getContext("2d")!.putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.canvas, 0, 0, this.columns * BIN_SIDE, this.rows * BIN_SIDE);
  }
}
