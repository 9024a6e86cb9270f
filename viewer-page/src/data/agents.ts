// Every agent that ever lived in a replay, with its birth, death, parents and children.

import type { Arrays } from "./format";

export interface AgentRecord {
  uid: number; born: number; group: number; parents: number[]; children: number[];
  died: number | null; cause: string | null;
}

export class AgentLog {
  agents = new Map<number, AgentRecord>();
  counts: number[] = []; // how many agents of each group ever lived

  /** Add the births and deaths of one SERI record. */
  add({ arrays, notes }: Arrays): void {
    const births = arrays.get("born")!.array; // uid, tick, group, two parents
    for (let i = 0; i < births.length; i += 5) {
      const parents = [...new Set([births[i + 3], births[i + 4]].filter((uid) => uid >= 0))];
      const agent = { uid: births[i], born: births[i + 1], group: births[i + 2], parents, children: [], died: null, cause: null };
      this.agents.set(agent.uid, agent);
      this.counts[agent.group] = (this.counts[agent.group] ?? 0) + 1;
      for (const parent of parents) this.agents.get(parent)?.children.push(agent.uid);
    }
    const deaths = arrays.get("died")!.array; // uid, tick, cause
    for (let i = 0; i < deaths.length; i += 3) {
      const agent = this.agents.get(deaths[i]);
      if (agent) [agent.died, agent.cause] = [deaths[i + 1], notes.causes[deaths[i + 2]]];
    }
  }

  get(uid: number): AgentRecord | undefined { return this.agents.get(uid); }

  founders(): AgentRecord[] { return [...this.agents.values()].filter((agent) => !agent.parents.length); }

  /** Children, their children and so on, without the agent itself. */
  descendants(uid: number): Set<number> {
    const descendants = new Set<number>();
    const stack = [uid];
    while (stack.length) {
      for (const child of this.agents.get(stack.pop()!)?.children ?? []) {
        if (!descendants.has(child)) { descendants.add(child); stack.push(child); }
      }
    }
    return descendants;
  }

  /** The founder that an agent descends from, by first parents. */
  founderOf(uid: number): number {
    let agent = this.agents.get(uid);
    while (agent?.parents.length) agent = this.agents.get(agent.parents[0]);
    return agent?.uid ?? uid;
  }

  isAlive(uid: number, tick: number): boolean {
    const agent = this.agents.get(uid)!;
    return agent.born <= tick && (agent.died === null || tick < agent.died);
  }
}
