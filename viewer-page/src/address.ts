// The URL fragment holds what is shown, so that a link opens it and a reload restores it.

export interface Address { run: string; replay: string; other: string; otherReplay: string; tick: number | null; uid: number | null; tab: number }

export function readAddress(): Address {
  const fields = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => (fields.has(name) && Number.isFinite(Number(fields.get(name))) ? Number(fields.get(name)) : null);
  return {
    run: fields.get("run") ?? "", replay: fields.get("replay") ?? "", other: fields.get("with") ?? "",
    otherReplay: fields.get("withReplay") ?? "", tick: number("tick"), uid: number("agent"), tab: number("tab") ?? 0,
  };
}

/** Write what is shown into the URL; `push` adds an entry to the browser's history. */
export function writeAddress(address: Partial<Address>, push = false): void {
  const fields = new URLSearchParams();
  if (address.run) fields.set("run", address.run);
  if (address.replay) fields.set("replay", address.replay);
  if (address.other) fields.set("with", address.other);
  if (address.otherReplay) fields.set("withReplay", address.otherReplay);
  if (address.tick) fields.set("tick", String(address.tick));
  if (address.uid !== null && address.uid !== undefined) fields.set("agent", String(address.uid));
  if (address.tab) fields.set("tab", String(address.tab));
  const fragment = fields.toString();
  if (fragment === location.hash.slice(1)) return;
  history[push ? "pushState" : "replaceState"](null, "", `${location.pathname}${location.search}${fragment ? `#${fragment}` : ""}`);
}
