// The legend of a map: everything that is drawn on it, with the names that its world gives.

import { h } from "../dom";
import { colourScheme, mix, rgb, type Rgb } from "./palette";
import type { MapView } from "./map_view";
import { agentSprite, objectSprite } from "./sprites";

const SIDE = 15; // pixels of a sample
const MIN_GUTTER = 150; // pixels beside the map in which the legend is open, because it covers nothing there

const css = (colour: Rgb) => `rgb(${colour.join(",")})`;

function entry(sample: HTMLElement, label: string): HTMLElement { return h("li", {}, sample, label); }

function sprite(canvas: HTMLCanvasElement): HTMLElement {
  const copy = h("canvas", { width: canvas.width, height: canvas.height });
  copy.getContext("2d")!.drawImage(canvas, 0, 0);
  copy.style.cssText = `width:${SIDE}px;height:${SIDE}px`;
  return copy;
}

const patch = (background: string) => h("span.patch", { style: `background:${background}` });

/** The entries of the legend: groups, letters on agents, kinds of cells, owners and areas. */
function entries({ style, replay }: MapView): HTMLElement[] {
  const colours = colourScheme();
  const ratio = window.devicePixelRatio || 1;
  const layers: any[] = replay.head.render_spec.layers;
  const labels = (name: string): string[] => layers.find((layer) => layer.name === name)?.labels ?? [];
  const groups = style.groups.map((name, i) => entry(sprite(agentSprite(style.group(i), SIDE * ratio, 1, "", false)), style.label(name)));
  const letters = (style.attribute("letter")?.labels ?? []).filter((name: string) => style.symbol(name)?.letter)
    .map((name: string) => entry(sprite(agentSprite(style.group(0), SIDE * ratio, 1, style.symbol(name)!.letter, false)), style.label(name)));
  const cross: string | undefined = style.attribute("cross")?.labels[1];
  const dead = cross ? [entry(sprite(agentSprite({ ...style.group(0), colour: colours.ink }, SIDE * ratio, 1, "", true)), style.label(cross))] : [];
  const size = style.attribute("size");
  const cells = labels("kind").flatMap((kind, code) => {
    const shape = style.shape(kind, code);
    if (shape === "ground") return [];
    if (shape === "wall") return [entry(patch(css(colours.wall)), style.label(kind))];
    if (shape === "amount") return [entry(patch(`linear-gradient(90deg, ${css(colours.bare)}, ${css(colours.grass)})`), style.label(kind))];
    const colour = css(style.cellColour(kind, colours));
    return [entry(sprite(objectSprite({ shape, colour, letter: style.letter(kind), owned: false }, SIDE * ratio, 1)), style.label(kind))];
  });
  const owners = style.owners.filter((name) => !style.groups.includes(name)).map((name) => entry(patch(style.owner(name)), `owned by ${style.label(name)}`));
  const areas = labels("area").map((name) => entry(patch(css(mix(colours.ground, rgb(style.owner(name)), 0.3))), `territory of ${style.label(name)}`));
  const shapes = new Set(labels("kind").map((kind, code) => style.shape(kind, code)));
  const texts = [size ? `Agents are larger with more ${size.name}.` : "", shapes.has("stock") ? "Pale: empty." : "", shapes.has("amount") ? "Dark: much." : "", shapes.has("diamond") ? "Filled: held." : "", areas.length > 1 ? "Mixed: of both." : ""];
  const notes = [h("li.hint", {}, [...texts, "Ring: selected. Dashed: its view."].filter(Boolean).join(" "))];
  return [...groups, ...letters, ...dead, ...cells, ...owners, ...areas, ...notes];
}

/** A box over the map that can be opened and closed; it is drawn when it is open. */
export function mapLegend(map: MapView): HTMLElement {
  const list = h("ul");
  const box = h("details.map-legend", {}, h("summary", { title: "What is drawn on the map (l)" }, "legend"), list);
  const draw = () => list.replaceChildren(...(box.open ? entries(map) : []));
  box.open = map.gutter >= MIN_GUTTER;
  box.addEventListener("toggle", draw);
  map.onRecolour = draw;
  draw();
  return box;
}
