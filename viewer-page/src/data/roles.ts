// Roles of a role history as plain data, and how a child differs from its parent.

export interface Tier { selection: string; behaviors: string[] }
export interface Role {
  id: string; name: string; origin: string; fitness: number; games: number; wins: number;
  locked: boolean; parents: string[]; tiers: Tier[];
}
export type Change = "kept" | "added" | "removed" | "moved";
export interface DiffLine { tier: number; behavior: string; change: Change }

/** Read the roles of a `role_history.json`. */
export function readRoles(history: any): Role[] {
  return (history?.roles ?? []).map((role: any) => ({
    id: String(role.id), name: role.name, origin: role.origin, fitness: role.fitness, games: role.games, wins: role.wins,
    locked: role.locked, parents: role.parents.map(String),
    tiers: role.tiers.map((tier: any) => ({ selection: tier.selection, behaviors: tier.behaviors })),
  }));
}

/** The behaviors of a child by tier, followed by those that only its parent has. */
export function diffRoles(parent: Role | null, child: Role): DiffLine[] {
  const parentTiers = new Map<string, number>();
  parent?.tiers.forEach((tier, i) => tier.behaviors.forEach((name) => parentTiers.set(name, i)));
  const lines: DiffLine[] = child.tiers.flatMap((tier, i) => tier.behaviors.map((behavior) => {
    const before = parentTiers.get(behavior);
    const change: Change = !parent || before === i ? "kept" : before === undefined ? "added" : "moved";
    return { tier: i, behavior, change };
  }));
  const current = new Set(lines.map((line) => line.behavior));
  for (const [behavior, tier] of parentTiers) if (!current.has(behavior)) lines.push({ tier, behavior, change: "removed" });
  return lines;
}

const MIN_GAMES = 5; // games from which on a fitness is reliable

/** The fittest role, the first of equals; one with fewer than MIN_GAMES only if all have fewer. */
export function findChampion(roles: Role[]): Role | null {
  const played = roles.filter((role) => role.games > 0);
  const reliable = played.filter((role) => role.games >= MIN_GAMES);
  return (reliable.length ? reliable : played).reduce<Role | null>((best, role) => (!best || role.fitness > best.fitness ? role : best), null);
}

/** A role and its ancestors by first parents, the role itself first. */
export function ancestry(roles: Map<string, Role>, role: Role): Role[] {
  const line = [role];
  for (let parent = roles.get(role.parents[0]); parent && !line.includes(parent); parent = roles.get(parent.parents[0])) line.push(parent);
  return line;
}
