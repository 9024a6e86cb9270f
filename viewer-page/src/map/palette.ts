// Colours of Okabe and Ito, which people with any colour vision can tell apart, on muted backgrounds.
// Whatever a colour encodes, a shape or letter encodes too.

export type Rgb = [number, number, number];

export const BLUE = "#0072b2", VERMILLION = "#d55e00", GREEN = "#009e73", ORANGE = "#e69f00";
export const SKY = "#56b4e9", PURPLE = "#cc79a7", YELLOW = "#f0e442";
export const GROUP_COLOURS = [BLUE, PURPLE, GREEN, ORANGE];
export const LINE_COLOURS = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "#7f7f7f", YELLOW];

/** The palette by the names that worlds use. */
const NAMED: Record<string, string> = { blue: BLUE, vermillion: VERMILLION, green: GREEN, orange: ORANGE, sky: SKY, purple: PURPLE, yellow: YELLOW, grey: "#8a8f98", grass: "#4f9a48" };

export function namedColour(name: string): string { return NAMED[name] ?? NAMED.grey; }

export interface ColourScheme {
  dark: boolean; ink: string; faint: string; paper: string; ground: Rgb; wall: Rgb; grass: Rgb; bare: Rgb;
}
const LIGHT: ColourScheme = {
  dark: false, ink: "#23262b", faint: "#d8d4cb", paper: "#fbfaf7",
  ground: [243, 240, 232], wall: [141, 134, 122], grass: [104, 168, 96], bare: [228, 224, 206],
};
const DARK: ColourScheme = {
  dark: true, ink: "#e8e6e1", faint: "#353a41", paper: "#15181c",
  ground: [29, 33, 38], wall: [92, 98, 106], grass: [62, 124, 66], bare: [40, 44, 42],
};

/** The colours of the theme that is on. */
export function colourScheme(): ColourScheme {
  return document.documentElement.dataset.theme === "dark" ? DARK : LIGHT;
}

export function rgb(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(a[i] + (b[i] - a[i]) * share)) as Rgb;
}

/** Brighter variants of dark hues, for the dark theme. */
const BRIGHT: Record<string, string> = { [BLUE]: "#4ea8e6", [VERMILLION]: "#f28038", [PURPLE]: "#e0a0c4", [GREEN]: "#2fc39a" };

export function forTheme(colour: string): string { return colourScheme().dark ? BRIGHT[colour] ?? colour : colour; }
