// Elements in few words.

type Child = Node | string | number | null | undefined | false;

type Tags = HTMLElementTagNameMap;
type Made<T extends string> = T extends keyof Tags ? Tags[T] : T extends `${infer K extends keyof Tags}.${string}` ? Tags[K] : HTMLElement;

/** `h("p.note", {title: "..."}, "text")`: an element with classes, properties and children. */
export function h<T extends string>(tag: T, props: any = {}, ...children: Child[]): Made<T> {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.classList.add(...classes);
  for (const [key, value] of Object.entries<any>(props ?? {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style" || key.includes("-") || key === "role" || key === "for") made.setAttribute(key, value);
    else if (key === "data") Object.assign(made.dataset, value);
    else (made as any)[key] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => child instanceof Node ? child : String(child)));
  return made as Made<T>;
}

const SVG = "http://www.w3.org/2000/svg";

export function s(tag: string, props: Record<string, any> = {}, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(SVG, tag) as SVGElement;
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

const GROUPED = new Intl.NumberFormat("en-GB"); // made once: making it takes longer than using it

/** A whole number with its thousands apart. */
export function grouped(value: number): string { return GROUPED.format(value); }

/** A number with few digits. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return grouped(Math.round(value));
  return String(Math.round(value * 100) / 100);
}

/** Words of the program as words for people: `clips_align` is "clips align". */
export function plain(name: string): string { return name.replace(/_/g, " "); }

/** Call at most once per animation frame. */
export function soon(call: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; call(); });
  };
}

/** Things that happen, and who wants to know. */
export class Signal<T = void> {
  private listeners = new Set<(value: T) => void>();
  on(listener: (value: T) => void): void { this.listeners.add(listener); }
  say(value: T): void { for (const listener of this.listeners) listener(value); }
}
