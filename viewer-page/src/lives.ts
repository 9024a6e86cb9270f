// Everybody who ever lived in a replay, and whose child each was.

import type { Block } from "./form";

export interface Life {
  uid: number; born: number; group: number; parents: number[]; children: number[];
  died: number | null; cause: string | null;
}

export class Lives {
  all = new Map<number, Life>();
  counts: number[] = []; // how many of each group ever lived

  take(block: Block): void {
    const born = block.arrays.get("born")!.array;
    for (let i = 0; i < born.length; i += 5) {
      const parents = [...new Set([born[i + 3], born[i + 4]].filter((uid) => uid >= 0))];
      const life = { uid: born[i], born: born[i + 1], group: born[i + 2], parents, children: [], died: null, cause: null };
      this.all.set(life.uid, life);
      this.counts[life.group] = (this.counts[life.group] ?? 0) + 1;
      for (const parent of parents) this.all.get(parent)?.children.push(life.uid);
    }
    const died = block.arrays.get("died")!.array;
    for (let i = 0; i < died.length; i += 3) {
      const life = this.all.get(died[i]);
      if (life) [life.died, life.cause] = [died[i + 1], block.notes.causes[died[i + 2]]];
    }
  }

  get(uid: number): Life | undefined { return this.all.get(uid); }

  founders(): Life[] { return [...this.all.values()].filter((life) => !life.parents.length); }

  /** Children, their children and so on, without the life itself. */
  descendants(uid: number): Set<number> {
    const found = new Set<number>();
    const open = [uid];
    while (open.length) {
      for (const child of this.all.get(open.pop()!)?.children ?? []) {
        if (!found.has(child)) { found.add(child); open.push(child); }
      }
    }
    return found;
  }

  /** The founder a life comes from, by first parents. */
  founderOf(uid: number): number {
    let at = this.all.get(uid);
    while (at?.parents.length) at = this.all.get(at.parents[0]);
    return at?.uid ?? uid;
  }

  aliveAt(life: Life, tick: number): boolean {
    return life.born <= tick && (life.died === null || tick < life.died);
  }
}
