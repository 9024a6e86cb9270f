// A matrix whose cells are coloured by their value; a cell may lead to a replay.

import { addressHref } from "../address";
import type { Block } from "../data/source";
import { formatFigure, h } from "../dom";
import { BLUE, VERMILLION } from "../map/palette";

const MAX_NUMBERS = 16; // columns up to which cells show their number
const MAX_OPACITY = 55; // per cent of a cell with the highest or lowest value

export function matrixTable(block: Extract<Block, { type: "matrix" }>, run: string): HTMLElement {
  const means = block.cells.flat().flatMap((cell) => (cell && cell[0] !== null ? [cell[0]] : []));
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const [middle, half] = [(low + high) / 2, (high - low) / 2 || 1];
  const showsNumbers = block.columns.length <= MAX_NUMBERS;
  const body = block.cells.map((cells, i) => h("tr", {}, h("th", { scope: "row", title: block.rows[i] }, block.rows[i]), ...cells.map((cell, j) => {
    if (!cell || cell[0] === null) return h("td.empty", {}, showsNumbers ? "–" : "");
    const level = (cell[0] - middle) / half;
    const text = showsNumbers ? formatFigure(cell[0]) : " ";
    const interval = cell[1] === null || cell[1] === undefined ? "" : ` (${formatFigure(cell[1])} to ${formatFigure(cell[2]!)})`;
    const title = `${block.rows[i]} against ${block.columns[j]}: ${formatFigure(cell[0])}${interval}${cell[3] ? `, n = ${cell[3]}` : ""}`;
    const style = `background: color-mix(in srgb, ${level < 0 ? VERMILLION : BLUE} ${Math.round(MAX_OPACITY * Math.abs(level))}%, transparent)`;
    const replay = block.replays[i]?.[j];
    return h("td", { title, style }, replay ? h("a", { href: addressHref({ run, replay }), title: `${title}. Watch a game.` }, text) : text);
  })));
  const head = h("tr", {}, h("th"), ...block.columns.map((name) => h("th", { scope: "col", title: name }, h("span", {}, name))));
  return h("div.scroll", {}, h("table.matrix", {}, h("thead", {}, head), h("tbody", {}, ...body)), block.note ? h("p.axis-label", {}, block.note) : null);
}
