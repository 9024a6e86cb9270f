// Charts of a replay's series, which move with the current tick.

import uPlot from "uplot";
import { formatName, formatNumber, formatTicks, h } from "../dom";
import { colourScheme } from "../map/palette";
import type { Player } from "../player";

const HEIGHT = 132;
const DASHES = [[], [5, 4]]; // of the first and the second replay of a comparison

interface SeriesChart { plot: uPlot; cursor: HTMLElement; names: string[]; values: HTMLElement[] }

/** The figure of a chart, the element that it is drawn in, and the options that all charts share. */
export function chartFrame(title: string, lines: { name: string; colour: string; value?: HTMLElement }[]) {
  const colours = colourScheme();
  const legend = h("div.legend", {}, ...lines.map(({ name, colour, value }) => h("span", {}, h("i", { style: `background:${colour}` }), formatName(name), value ? " " : null, value)));
  const plot = h("div.plot");
  const figure = h("figure.chart", { data: { chart: title } }, h("figcaption", {}, title, legend), plot);
  const axis = { stroke: colours.ink, grid: { stroke: colours.faint, width: 1 }, ticks: { stroke: colours.faint, width: 1 }, font: "11px system-ui, sans-serif" };
  const axes: uPlot.Axis[] = [{ ...axis, size: 26, values: (_, ticks) => formatTicks(ticks) }, { ...axis, size: (_, texts) => Math.max(46, 16 + 6.5 * Math.max(...(texts ?? []).map((text) => text.length), 0)), values: (_, ticks) => formatTicks(ticks) }];
  return { figure, plot, axes, legend };
}

export class Charts {
  readonly element = h("section.charts", { "aria-label": "Charts" });
  private charts: SeriesChart[] = [];
  private builtKey = "";

  constructor(private player: Player) {
    player.onFrame.on(() => this.moveCursor());
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Build the charts of another replay or theme, or update their data if the replay has grown. */
  refresh(): void {
    const { player } = this;
    if (!player.views.length || !this.element.isConnected) return;
    const key = `${player.views.map((view) => view.replay.label)} ${colourScheme().dark}`;
    if (key !== this.builtKey) {
      this.builtKey = key;
      this.charts.forEach(({ plot }) => plot.destroy());
      this.charts = [];
      this.element.replaceChildren();
      const series: string[] = player.main.replay.head.series;
      for (const title of new Set(series.map((name) => name.split("/")[0]))) this.addChart(title, series.filter((name) => name.startsWith(`${title}/`)));
    } else {
      this.charts.forEach(({ plot, names }) => plot.setData(this.data(names)));
    }
    this.moveCursor();
  }

  private data(names: string[]): uPlot.AlignedData {
    const tables = this.player.views.map(({ replay }) => [
      replay.ticks, ...names.map((name) => replay.head.series.includes(name) ? [...replay.series(name)] : replay.ticks.map(() => null)),
    ] as uPlot.AlignedData);
    return tables.length > 1 ? uPlot.join(tables) : tables[0];
  }

  private addChart(title: string, names: string[]): void {
    const { style } = this.player.main.map;
    const lines = names.map((fullName, i) => {
      const name = fullName.slice(title.length + 1);
      return { name, colour: style.line(name, i), value: h("b") };
    });
    const { figure, plot: container, axes } = chartFrame(title, lines);
    figure.append(h("p.axis-label", {}, "tick"));
    this.element.append(figure);
    const plot = new uPlot({
      width: Math.max(200, container.clientWidth), height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > low || high > 0 ? high * 1.06 : 1] } },
      axes,
      series: [{}, ...this.player.views.flatMap((_, view) => lines.map(({ colour }) => ({ stroke: colour, width: 1.5, dash: DASHES[view], points: { show: false } })))],
    }, this.data(names), container);
    const cursor = h("div.cursor");
    plot.over.append(cursor);
    plot.over.addEventListener("click", (event) => {
      const tick = plot.posToVal(event.offsetX, "x");
      this.player.pause();
      this.player.seek(this.player.main.replay.frameOf(tick));
    });
    this.charts.push({ plot, cursor, names, values: lines.map(({ value }) => value) });
  }

  /** Move the cursors to the current tick and write its values into the legends. */
  private moveCursor(): void {
    if (!this.element.isConnected || !this.player.views.length) return;
    const tick = this.player.main.replay.ticks[this.player.frame];
    for (const { plot, cursor, names, values } of this.charts) {
      cursor.style.transform = `translateX(${plot.valToPos(tick, "x")}px)`;
      names.forEach((name, i) => {
        const current = this.player.views.map(({ replay }) => replay.head.series.includes(name) ? formatNumber(replay.series(name)[replay.frameOf(tick)]) : "–");
        const text = current.join(" | ");
        if (values[i].textContent !== text) values[i].textContent = text;
      });
    }
  }

  private resize(): void {
    for (const { plot } of this.charts) {
      const width = plot.root.parentElement!.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
    this.moveCursor();
  }
}
