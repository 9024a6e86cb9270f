// Helpers for elements, numbers, names and events.

type Child = Node | string | number | null | undefined | false;

type Tags = HTMLElementTagNameMap;
type ElementOf<T extends string> = T extends keyof Tags ? Tags[T] : T extends `${infer K extends keyof Tags}.${string}` ? Tags[K] : HTMLElement;

/** Create an HTML element with classes, properties and children: `h("p.note", {title: "..."}, "text")`. */
export function h<T extends string>(tag: T, props: any = {}, ...children: Child[]): ElementOf<T> {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  element.classList.add(...classes);
  for (const [key, value] of Object.entries<any>(props ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style" || key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else if (key === "data") Object.assign(element.dataset, value);
    else (element as any)[key] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => child instanceof Node ? child : String(child)));
  return element as ElementOf<T>;
}

const SVG = "http://www.w3.org/2000/svg";

/** Create an SVG element with attributes, listeners and children. */
export function s(tag: string, props: Record<string, any> = {}, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, String(value));
  }
  element.append(...children);
  return element;
}

const FORMAT = new Intl.NumberFormat("en-GB"); // created once: that takes longer than using it

/** Format a whole number with thousands separators. */
export function formatInteger(value: number): string { return FORMAT.format(value); }

/** Format a number with at most two decimals. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return formatInteger(Math.round(value));
  return String(Math.round(value * 100) / 100);
}

/** Format the numbers of an axis with as many decimals as tell them apart. */
export function formatTicks(ticks: (number | null)[]): string[] {
  const known = ticks.filter((tick): tick is number => tick !== null);
  const step = known.length > 1 ? Math.abs(known[1] - known[0]) : Math.abs(known[0] ?? 1) || 1;
  const isTiny = Math.max(...known.map(Math.abs), 0) < 1e-3;
  let decimals = 0;
  while (decimals < 10 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals++;
  return ticks.map((tick) => {
    if (tick === null) return "";
    if (isTiny && tick) return Number(tick.toPrecision(4)).toExponential();
    return Math.abs(tick) >= 1000 ? formatInteger(Number(tick.toFixed(decimals))) : String(Number(tick.toFixed(decimals)));
  });
}

/** Format a figure with three digits, from 100 on without decimals, as the command line does. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return Math.abs(value) >= 100 ? formatInteger(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** Turn an identifier into words: `clips_align` becomes "clips align". */
export function formatName(name: string): string { return name.replace(/_/g, " "); }

/** Return a function that calls `call` at most once per animation frame. */
export function oncePerFrame(call: () => void): () => void {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; call(); });
  };
}

/** An event with listeners. */
export class Signal<T = void> {
  private listeners = new Set<(value: T) => void>();
  on(listener: (value: T) => void): void { this.listeners.add(listener); }
  emit(value: T): void { for (const listener of this.listeners) listener(value); }
}
