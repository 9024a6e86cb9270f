// The URL fragment holds what is shown, so that a link opens it and a reload restores it.

export interface Address {
  run: string; replay: string; other: string; otherReplay: string; tick: number | null; uid: number | null; tab: number;
  view: string; // "page" for the page of a run that also has replays
  search: string; sort: string; // of the list of runs
}

/** The names of the text fields in the fragment. */
const TEXT_FIELDS: [keyof Address, string][] = [
  ["run", "run"], ["view", "view"], ["replay", "replay"], ["other", "with"], ["otherReplay", "withReplay"], ["search", "search"], ["sort", "sort"],
];

let known = location.hash; // as it was last read or written here

export function readAddress(): Address {
  known = location.hash;
  const fields = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => (fields.has(name) && Number.isFinite(Number(fields.get(name))) ? Number(fields.get(name)) : null);
  const text = (name: string) => fields.get(name) ?? "";
  return {
    run: text("run"), replay: text("replay"), other: text("with"), otherReplay: text("withReplay"),
    tick: number("tick"), uid: number("agent"), tab: number("tab") ?? 0, view: text("view"), search: text("search"), sort: text("sort"),
  };
}

/** The fragment of an address, without its sign. */
function writeFragment(address: Partial<Address>): string {
  const fields = new URLSearchParams();
  for (const [name, field] of TEXT_FIELDS) if (address[name]) fields.set(field, String(address[name]));
  if (address.tick) fields.set("tick", String(address.tick));
  if (address.uid !== null && address.uid !== undefined) fields.set("agent", String(address.uid));
  if (address.tab) fields.set("tab", String(address.tab));
  return fields.toString();
}

/** The address as the target of a link. */
export function addressHref(address: Partial<Address>): string { return `#${writeFragment(address)}`; }

/** Write what is shown into the URL; `push` adds an entry to the browser's history. */
export function writeAddress(address: Partial<Address>, push = false): void {
  const fragment = writeFragment(address);
  if (!push && location.hash !== known) return; // a link was followed, and its event is still to come
  if (fragment === location.hash.slice(1)) return;
  history[push ? "pushState" : "replaceState"](null, "", `${location.pathname}${location.search}${fragment ? `#${fragment}` : ""}`);
  known = location.hash;
}
