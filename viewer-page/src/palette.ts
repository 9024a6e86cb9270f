// Colours: those of Okabe and Ito, which people with any colour vision can tell apart, on quiet
// grounds. What colour says, shape says too.

export type Rgb = [number, number, number];
export type Shape = "circle" | "triangle" | "square" | "diamond";
export interface Style { colour: string; shape: Shape }

export const BLUE = "#0072b2", VERMILLION = "#d55e00", GREEN = "#009e73", ORANGE = "#e69f00";
export const SKY = "#56b4e9", PURPLE = "#cc79a7", YELLOW = "#f0e442";
const TEAMS = [BLUE, PURPLE, GREEN, ORANGE];
export const LINES = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "#7f7f7f", YELLOW];

export interface Scheme {
  dark: boolean; ink: string; faint: string; paper: string; ground: Rgb; wall: Rgb; grass: Rgb; bare: Rgb;
}
const LIGHT: Scheme = {
  dark: false, ink: "#23262b", faint: "#d8d4cb", paper: "#fbfaf7",
  ground: [243, 240, 232], wall: [141, 134, 122], grass: [104, 168, 96], bare: [228, 224, 206],
};
const DARK: Scheme = {
  dark: true, ink: "#e8e6e1", faint: "#353a41", paper: "#15181c",
  ground: [29, 33, 38], wall: [92, 98, 106], grass: [62, 124, 66], bare: [40, 44, 42],
};

export function scheme(): Scheme {
  return document.documentElement.dataset.theme === "dark" ? DARK : LIGHT;
}

export function rgb(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(a[i] + (b[i] - a[i]) * share)) as Rgb;
}

/** The same hues on a dark ground, where the plain ones would sink in. */
const BRIGHT: Record<string, string> = { [BLUE]: "#4ea8e6", [VERMILLION]: "#f28038", [PURPLE]: "#e0a0c4", [GREEN]: "#2fc39a" };

function lit(colour: string): string { return scheme().dark ? BRIGHT[colour] ?? colour : colour; }

/** How the agents of a group look: by what its name says, or by its number. */
export function groupStyle(name: string, index: number): Style {
  const second = /type_2/.test(name);
  if (/predator|hunter/.test(name)) return { colour: lit(second ? ORANGE : VERMILLION), shape: "triangle" };
  if (/prey|grazer/.test(name)) return { colour: lit(second ? SKY : BLUE), shape: "circle" };
  return { colour: lit(TEAMS[index % TEAMS.length]), shape: (["circle", "square", "diamond", "triangle"] as Shape[])[index % 4] };
}

/** The colour of a side: a group, or somebody who is none, such as the clips. */
export function sideColour(name: string, groups: string[]): string {
  const index = groups.indexOf(name);
  return index >= 0 ? groupStyle(name, index).colour : lit(VERMILLION);
}

const ELEMENTS: Record<string, string> = {
  carbon: "#8a8f98", oxygen: SKY, germanium: GREEN, silicon: ORANGE,
};

/** The colour of a thing that is nobody's. */
export function thingColour(kind: string, paint: Scheme): Rgb {
  const element = Object.keys(ELEMENTS).find((name) => kind.startsWith(name));
  if (element) return rgb(ELEMENTS[element]);
  return paint.dark ? [150, 154, 160] : [120, 118, 112];
}

/** What is written on a thing; it says what colour alone would not. */
export function thingMark(kind: string): string {
  const [what, station] = kind.split("_");
  if (station === "extractor") return what[0].toUpperCase();
  if (station === "station") return { aligner: "a", scrambler: "r", miner: "m", scout: "t" }[what] ?? "?";
  return { hub: "⌂", chest: "♥", junction: "", ship: "▾" }[kind] ?? "";
}
