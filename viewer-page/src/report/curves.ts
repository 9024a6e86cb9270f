// Lines over steps, generations or a setting, with areas around them for intervals and spreads.

import uPlot from "uplot";
import type { Block } from "../data/source";
import { formatFigure, h } from "../dom";
import { rgb } from "../map/palette";
import { chartFrame } from "../panels/charts";
import type { NamedColours } from "./colours";

const HEIGHT = 170;
const FEW_POINTS = 40; // up to which points are drawn on a line
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1e6, 2e6, 5e6, 1e7, 5e7, 1e8];

/** A line that stays at one value is shown between zero and twice the value. */
function yRange(_: uPlot, low: number, high: number): uPlot.Range.MinMax {
  return low === high ? [Math.min(0, 2 * low), Math.max(0, 2 * low) || Number(!low)] : uPlot.rangeNum(low, high, 0.1, true);
}

export function curveChart({ x_label, note, ...block }: Extract<Block, { type: "curves" }>, colours: NamedColours): HTMLElement {
  const lines = block.lines.filter(({ y }) => y.some((value) => value !== null && value !== undefined));
  if (!lines.length) return h("p.hint", {}, "There is no value.");
  const chosen = colours.choose(lines.map(({ group }) => group));
  const legend = lines.map(({ name }, i) => ({ name, colour: chosen[i], value: h("b") }));
  const { plot: container, axes: [xAxis, yAxis], legend: keys } = chartFrame("", legend);
  const tables = lines.map(({ x, y, low, high }) => [x, y, ...(low.length ? [low, high] : [])] as uPlot.AlignedData);
  const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const lineAt: number[] = []; // the index of each line in the data
  for (const [i, { x, low }] of lines.entries()) {
    const colour = chosen[i];
    lineAt.push(series.length);
    series.push({ stroke: colour, width: 1.7, spanGaps: true, points: { show: x.length <= FEW_POINTS, size: 5 } });
    if (!low.length) continue;
    const [r, g, b] = rgb(colour);
    bands.push({ series: [series.length + 1, series.length], fill: `rgba(${r},${g},${b},0.17)` });
    for (let end = 0; end < 2; end++) series.push({ stroke: `rgba(${r},${g},${b},0.25)`, width: 1, spanGaps: true, points: { show: false } });
  }
  const showValues = (plot: uPlot) => legend.forEach(({ value }, i) => {
    const at = plot.cursor.idx;
    const number = at === null || at === undefined ? null : data[lineAt[i]][at];
    value.textContent = number === null || number === undefined ? "" : formatFigure(number);
  });
  const places = new Set(lines.flatMap(({ x }) => x)), [first] = places; // a single place is shown in the middle
  const isWhole = lines.every(({ x }) => x.every(Number.isInteger));
  let plot: uPlot | null = null;
  new ResizeObserver(() => { // a panel that is not shown yet has no width
    const width = container.clientWidth;
    if (!width) return;
    if (plot) plot.setSize({ width, height: HEIGHT });
    plot ??= new uPlot({
      width, height: HEIGHT, legend: { show: false }, cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 } },
      scales: { x: { time: false, range: (_, low, high) => places.size === 1 ? [first - 0.5, first + 0.5] : [low, high] }, y: { range: yRange } }, axes: [isWhole ? { ...xAxis, incrs: WHOLE_STEPS } : xAxis, yAxis], series, bands, hooks: { setCursor: [showValues] },
    }, data, container);
  }).observe(container);
  return h("div.curves", {}, keys, container, h("p.axis-label", {}, note ? `${x_label}; ${note}` : x_label));
}
