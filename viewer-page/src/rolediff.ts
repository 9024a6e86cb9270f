// Roles as plain data, and how a child differs from its parent.

export interface Tier { selection: string; behaviours: string[] }
export interface Role {
  id: string; name: string; origin: string; fitness: number; games: number; wins: number;
  locked: boolean; parents: string[]; tiers: Tier[];
}
export type Change = "kept" | "added" | "removed" | "moved";
export interface Line { tier: number; behaviour: string; change: Change }

/** What `role_history.json` holds, whichever way parents are named. */
export function rolesOf(history: any): Role[] {
  const behaviours = (tier: any): string[] =>
    (tier.behaviors ?? tier.behaviours ?? []).map((one: any) => (typeof one === "string" ? one : one.name));
  return (history?.roles ?? []).map((role: any, i: number) => ({
    id: String(role.id ?? role.name ?? i), name: role.name, origin: role.origin ?? "", fitness: role.fitness ?? 0,
    games: role.games ?? 0, wins: role.wins ?? 0, locked: Boolean(role.locked ?? role.locked_name),
    parents: (role.parents ?? []).map(String),
    tiers: (role.tiers ?? []).map((tier: any) => ({ selection: String(tier.selection ?? "fixed").toLowerCase(), behaviours: behaviours(tier) })),
  }));
}

/** The tiers of a child, line by line, and after them what it no longer has. */
export function differences(parent: Role | null, child: Role): Line[] {
  const before = new Map<string, number>();
  parent?.tiers.forEach((tier, i) => tier.behaviours.forEach((name) => before.set(name, i)));
  const lines: Line[] = child.tiers.flatMap((tier, i) => tier.behaviours.map((behaviour) => {
    const was = before.get(behaviour);
    const change: Change = !parent || was === i ? "kept" : was === undefined ? "added" : "moved";
    return { tier: i, behaviour, change };
  }));
  const now = new Set(lines.map((line) => line.behaviour));
  for (const [behaviour, tier] of before) if (!now.has(behaviour)) lines.push({ tier, behaviour, change: "removed" });
  return lines;
}

const SEASONED = 5; // games after which a fitness says something

/** The fittest role, the first of equals; of those with few games only if there are no others. */
export function championOf(roles: Role[]): Role | null {
  const played = roles.filter((role) => role.games > 0);
  const seasoned = played.filter((role) => role.games >= SEASONED);
  return (seasoned.length ? seasoned : played).reduce<Role | null>((best, role) => (!best || role.fitness > best.fitness ? role : best), null);
}

/** The way of first parents from a role back to one without any, the role itself first. */
export function ancestry(roles: Map<string, Role>, role: Role): Role[] {
  const way = [role];
  for (let at: Role | undefined = roles.get(role.parents[0]); at && !way.includes(at); at = roles.get(at.parents[0])) way.push(at);
  return way;
}
