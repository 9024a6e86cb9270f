// The figures and tables of a run's page. What they show is decided by the server, for each kind of run.

import type { Block, Failures, Report } from "../data/source";
import { formatNumber, h } from "../dom";
import { NamedColours } from "./colours";
import { curveChart } from "./curves";
import { forestPlot } from "./forest";
import { matrixTable } from "./matrix";

const NARROW = { columns: 3, names: 4, letters: 14 }; // of a table, of a matrix and of its names, up to which it stands beside others
const MAX_PLACES = 20; // of failures that are alike

/** The blocks of a report, each a section with a heading. */
export function reportElement(report: Report, run: string): HTMLElement {
  const colours = new NamedColours(report.symbols);
  const blocks = report.blocks.map((block) => h(`section.block.${block.type}${isWide(block) ? ".wide" : ""}`, { data: { block: block.title } },
    block.title ? h("h3", {}, block.title) : null, drawBlock(block, run, colours)));
  return h("div.report", {}, ...blocks, ...(report.failures?.total ? [failureList(report.failures)] : []));
}

/** Whether a block takes the whole width of the page. */
function isWide(block: Block): boolean {
  if (block.type === "table") return block.headings.length > NARROW.columns;
  return block.type === "matrix" && (block.columns.length > NARROW.names || [...block.rows, ...block.columns].some((name) => name.length > NARROW.letters));
}

function drawBlock(block: Block, run: string, colours: NamedColours): HTMLElement {
  if (block.type === "estimates") return forestPlot(block, colours);
  if (block.type === "curves") return curveChart(block, colours);
  if (block.type === "matrix") return matrixTable(block, run);
  if (block.type === "table") return textTable(block.headings, block.rows);
  return h(`div.text.${block.style}`, {}, ...block.lines.map((line) => h(block.style === "diff" ? "code" : "p.verdict", { data: { sign: block.style === "diff" ? line[0] : "" } }, line)));
}

/** A table; columns of numbers are aligned to the right. */
export function textTable(headings: string[], rows: string[][]): HTMLElement {
  const isNumeric = headings.map((_, i) => rows.every((row) => /^[-–]?[\d.,]*(e[-+]?\d+)?( \(.*\)| to .*)?$/.test(row[i] ?? "")));
  const cell = (tag: string, text: string, i: number) => h(isNumeric[i] ? `${tag}.number` : tag, {}, text);
  return h("div.scroll", {}, h("table.results", {}, h("thead", {}, h("tr", {}, ...headings.map((name, i) => cell("th", name, i)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((text, i) => cell("td", text, i)))))));
}

/** The failures of policies: which policy, where in the game, what happened, and the author's file and line; those alike are one entry. */
function failureList({ total, headings, rows }: Failures): HTMLElement {
  const title = total === 1 ? "1 failure of a policy" : `${formatNumber(total)} failures of policies`;
  const place = (row: string[]) => row.slice(1, -2).map((value, i) => `${headings[i + 1]} ${value}`).join(", ");
  const alike = new Map<string, string[][]>();
  for (const row of rows) {
    const key = JSON.stringify([row[0], row.at(-2), row.at(-1)]);
    alike.set(key, [...(alike.get(key) ?? []), row]);
  }
  const entries = [...alike.values()].map(([first, ...others]) => {
    const shown = others.slice(0, MAX_PLACES).map((row) => h("div.hint", {}, place(row)));
    const left = others.length > MAX_PLACES ? [h("div.hint", {}, `and ${others.length - MAX_PLACES} others`)] : [];
    const more = others.length ? h("details", {}, h("summary", {}, `${others.length} more like it`), ...shown, ...left) : null;
    return h("li", {}, h("b", {}, first[0]), h("div.hint", {}, place(first)), h("div.event", {}, first.at(-2)!), h("code.where", {}, first.at(-1)!), more);
  });
  return h("section.block.wide", {}, h("h3", {}, rows.length < total ? `${title}; the first ${rows.length}:` : title), h("ul.failures", {}, ...entries));
}
