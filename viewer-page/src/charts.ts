// Charts in step with the cursor: the replay's series, and what a run measured over time.

import uPlot from "uplot";
import { h, plain, short } from "./dom";
import { groupStyle, LINES, scheme, sideColour } from "./palette";
import type { Player } from "./player";

const HEIGHT = 132;
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]; // steps of generations
const DASHES = [[], [5, 4]]; // the second run of a comparison

interface Chart { plot: uPlot; hand: HTMLElement; names: string[]; values: HTMLElement[] }

export class Charts {
  readonly element = h("section.charts", { "aria-label": "Charts" });
  private charts: Chart[] = [];
  private key = "";

  constructor(private player: Player) {
    player.onFrame.on(() => this.move());
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Make the charts anew: another replay, another theme, or more of it. */
  renew(): void {
    const { player } = this;
    if (!player.views.length || !this.element.isConnected) return;
    const key = `${player.views.map((view) => view.replay.label)} ${scheme().dark}`;
    if (key !== this.key) {
      this.key = key;
      this.charts.forEach(({ plot }) => plot.destroy());
      this.charts = [];
      this.element.replaceChildren();
      const series: string[] = player.main.replay.head.series;
      for (const chart of new Set(series.map((name) => name.split("/")[0]))) this.add(chart, series.filter((name) => name.startsWith(`${chart}/`)));
    } else {
      this.charts.forEach(({ plot, names }) => plot.setData(this.data(names)));
    }
    this.move();
  }

  private data(names: string[]): uPlot.AlignedData {
    const tables = this.player.views.map(({ replay }) => [
      replay.ticks, ...names.map((name) => replay.head.series.includes(name) ? [...replay.line(name)] : replay.ticks.map(() => null)),
    ] as uPlot.AlignedData);
    return tables.length > 1 ? uPlot.join(tables) : tables[0];
  }

  private add(title: string, names: string[]): void {
    const { groups } = this.player.main.replay.head;
    const paint = scheme();
    const taken = groups.map((name: string, i: number) => groupStyle(name, i).colour);
    const free = LINES.filter((colour) => !taken.includes(colour)); // a slot is no group
    const colours = names.map((name, i) => {
      const line = name.slice(title.length + 1);
      if (groups.includes(line)) return groupStyle(line, groups.indexOf(line)).colour;
      return line === "clips" ? sideColour(line, groups) : line === "grass" ? "#4f9a48" : free[i % free.length];
    });
    const values = names.map(() => h("b"));
    const legend = h("div.legend", {}, ...names.map((name, i) => h("span", {}, h("i", { style: `background:${colours[i]}` }), plain(name.slice(title.length + 1)), " ", values[i])));
    const place = h("div.plot");
    const box = h("figure.chart", { data: { chart: title } }, h("figcaption", {}, title, legend), place);
    this.element.append(box);
    const axis = { stroke: paint.ink, grid: { stroke: paint.faint, width: 1 }, ticks: { stroke: paint.faint, width: 1 }, font: "11px system-ui, sans-serif" };
    const plot = new uPlot({
      width: Math.max(200, place.clientWidth), height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > low || high > 0 ? high * 1.06 : 1] } },
      axes: [{ ...axis, size: 26 }, { ...axis, size: 46, values: (_, ticks) => ticks.map(short) }],
      series: [{}, ...this.player.views.flatMap((_, v) => names.map((_, i) => ({ stroke: colours[i], width: 1.5, dash: DASHES[v], points: { show: false } })))],
    }, this.data(names), place);
    const hand = h("div.hand");
    plot.over.append(hand);
    plot.over.addEventListener("click", (event) => {
      const tick = plot.posToVal(event.offsetX, "x");
      this.player.pause();
      this.player.seek(this.player.main.replay.frameOf(tick));
    });
    this.charts.push({ plot, hand, names, values });
  }

  private move(): void {
    if (!this.element.isConnected || !this.player.views.length) return;
    const { replay } = this.player.main;
    const frame = this.player.frame;
    for (const { plot, hand, names, values } of this.charts) {
      hand.style.transform = `translateX(${plot.valToPos(replay.ticks[frame], "x")}px)`;
      names.forEach((name, i) => {
        const both = this.player.views.map((view) => view.replay.head.series.includes(name) ? short(view.replay.line(name)[view.replay.frameOf(replay.ticks[frame])]) : "–");
        const text = both.join(" | ");
        if (values[i].textContent !== text) values[i].textContent = text;
      });
    }
  }

  private resize(): void {
    for (const { plot } of this.charts) {
      const width = plot.root.parentElement!.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
    this.move();
  }
}

/** A chart of lines over steps, such as fitness over generations. */
export function lineChart(title: string, steps: number[], lines: Record<string, (number | null)[]>): HTMLElement {
  const paint = scheme();
  const names = Object.keys(lines);
  const place = h("div.plot");
  const legend = h("div.legend", {}, ...names.map((name, i) => h("span", {}, h("i", { style: `background:${LINES[i % LINES.length]}` }), plain(name))));
  const figure = h("figure.chart", { data: { chart: title } }, h("figcaption", {}, title, legend), place);
  const axis = { stroke: paint.ink, grid: { stroke: paint.faint, width: 1 }, ticks: { stroke: paint.faint, width: 1 }, font: "11px system-ui, sans-serif" };
  let plot: uPlot | null = null;
  new ResizeObserver(() => { // a panel that is not shown yet has no width
    const width = place.clientWidth;
    if (!width) return;
    if (plot) plot.setSize({ width, height: HEIGHT });
    plot ??= new uPlot({
      width, height: HEIGHT, legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false }, scales: { x: { time: false } },
      axes: [{ ...axis, size: 26, incrs: WHOLE }, { ...axis, size: 46, values: (_, ticks) => ticks.map(short) }],
      series: [{}, ...names.map((_, i) => ({ stroke: LINES[i % LINES.length], width: 1.6, points: { show: steps.length < 40 } }))],
    }, [steps, ...names.map((name) => lines[name])] as uPlot.AlignedData, place);
  }).observe(place);
  return figure;
}
