// What is looked at stands in the address, so that a link shows it and a reload comes back to it.

export interface Address { run: string; replay: string; other: string; otherReplay: string; tick: number | null; uid: number | null; tab: number }

export function readAddress(): Address {
  const words = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => (words.has(name) && Number.isFinite(Number(words.get(name))) ? Number(words.get(name)) : null);
  return {
    run: words.get("run") ?? "", replay: words.get("replay") ?? "", other: words.get("with") ?? "",
    otherReplay: words.get("withReplay") ?? "", tick: number("tick"), uid: number("agent"), tab: number("tab") ?? 0,
  };
}

/** Write what is looked at into the address; `step` makes it one that the Back button returns from. */
export function writeAddress(to: Partial<Address>, step = false): void {
  const words = new URLSearchParams();
  if (to.run) words.set("run", to.run);
  if (to.replay) words.set("replay", to.replay);
  if (to.other) words.set("with", to.other);
  if (to.otherReplay) words.set("withReplay", to.otherReplay);
  if (to.tick) words.set("tick", String(to.tick));
  if (to.uid !== null && to.uid !== undefined) words.set("agent", String(to.uid));
  if (to.tab) words.set("tab", String(to.tab));
  const hash = words.toString();
  if (hash === location.hash.slice(1)) return;
  history[step ? "pushState" : "replaceState"](null, "", `${location.pathname}${location.search}${hash ? `#${hash}` : ""}`);
}
