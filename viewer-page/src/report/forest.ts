// A forest plot: means with their intervals one below the other, over the single values as points.

import type { Block, EstimateRow } from "../data/source";
import { formatFigure, formatNumber, formatTicks, h, s } from "../dom";
import { colourScheme } from "../map/palette";
import type { NamedColours } from "./colours";

const ROW = 26, AXIS = 20; // pixels
const MAX_LOOSE_POINTS = 60; // up to which points are drawn large

/** Round numbers between two values, about `count` of them. */
export function niceTicks(low: number, high: number, count = 4): number[] {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw)!;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + 1e-9 * step; tick += step) ticks.push(Math.abs(tick) < 1e-12 ? 0 : tick);
  return ticks;
}

/** A mean with its interval as text. */
export function estimateText(row: EstimateRow): string {
  const [mean, low, high] = row.estimate ?? [null];
  if (mean === null || mean === undefined) return "no value";
  return low === null || low === undefined ? formatFigure(mean) : `${formatFigure(mean)} (${formatFigure(low)} to ${formatFigure(high!)})`;
}

export function forestPlot(block: Extract<Block, { type: "estimates" }>, colours: NamedColours): HTMLElement {
  const finite = block.rows.flatMap(({ estimate, values }) => [...(estimate ?? []).slice(0, 3), ...values]).filter((value): value is number => value !== null && value !== undefined);
  if (!finite.length) return h("p.hint", {}, `There is no value of ${block.rows.map(({ name }) => name).join(", ") || "anything"}.`);
  if (block.zero) finite.push(0);
  let [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const margin = 0.04 * (high - low);
  const x = (value: number) => `${((100 * (value - low + margin)) / (high - low + 2 * margin)).toFixed(2)}%`;
  const ticks = niceTicks(low, high);
  const grid = (height: number) => [...ticks.map((tick) => s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: height })),
    ...(block.zero ? [s("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: height })] : [])];
  const chosen = colours.choose(block.rows.map(({ group }) => group));
  const rows = block.rows.flatMap((row, i) => {
    const n = row.estimate?.[3] ?? row.values.length;
    return [
      h("dt", { title: row.name }, row.name),
      h("dd.plot", {}, s("svg", { height: ROW, role: "img", "aria-label": `${row.name}: ${estimateText(row)}` }, ...grid(ROW), ...drawRow(row, x, block.zero ? colourScheme().ink : chosen[i]))),
      h("dd.figure", {}, estimateText(row), n ? h("small", {}, `n = ${n}`) : null, row.note ? h("small", {}, row.note) : null),
    ];
  });
  const texts = formatTicks(ticks);
  const axis = s("svg", { height: AXIS, "aria-hidden": "true" }, ...ticks.map((tick, i) => s("text", { x: x(tick), y: 13, "text-anchor": "middle" }, texts[i])));
  return h("div.forest", {}, h("dl", {}, ...rows, h("dt.axis"), h("dd.plot", {}, axis), h("dd")), h("p.axis-label", {}, block.x_label));
}

function drawRow({ estimate, values, name }: EstimateRow, x: (value: number) => string, colour: string): SVGElement[] {
  const middle = ROW / 2;
  const isLoose = values.length <= MAX_LOOSE_POINTS;
  const points = values.flatMap((value, i) => value === null ? [] : [s("circle", { class: "point", cx: x(value), cy: middle + (((i * 0.618) % 1) - 0.5) * (ROW - 10), r: isLoose ? 2.6 : 1.6, fill: colour }, s("title", {}, `${name}, ${i}: ${formatNumber(value)}`))]);
  const [mean, low, high] = estimate ?? [null];
  if (mean === null || mean === undefined) return points;
  const interval = low === null || low === undefined ? [] : [s("line", { class: "interval", x1: x(low), x2: x(high!), y1: middle, y2: middle, stroke: colour }),
    ...[low, high!].map((end) => s("line", { class: "interval-end", x1: x(end), x2: x(end), y1: middle - 5, y2: middle + 5, stroke: colour }))];
  return [...points, ...interval, s("circle", { class: "mean", cx: x(mean), cy: middle, r: 4.5, fill: colour })];
}
