// Planned changes as commits. Elections share commits: a lost node may have led a thousand shards, and all of
// them wait.
//
// Invariants:
//   CB1  A commit has every condition of each of its changes.
//   CB2  A commit keeps within the store's limit of conditions and of changes.
//   CB3  When a commit met a conflict, none of its changes has happened. Only those whose own conditions do not
//        hold any more have met it; the others may be planned again at once.

import {
  OPS_PER_COMMIT_MAX,
  type Change,
  type Commit,
  type Condition,
  type CoordinationEntry,
} from '../../coordination/coordination.ts'
import type { PlannedChange } from './planned-change.ts'

/** A commit for the coordination store, and the changes that it makes. */
export interface PlannedCommit {
  readonly changes: readonly PlannedChange[]
  readonly commit: Commit
}

/** Changes of one plan that share a commit. All were decided on one view of the cluster. */
export class SharedCommit implements PlannedCommit {
  readonly changes: PlannedChange[] = []
  readonly #when = new Map<string, Condition>()
  readonly #changes: Change[] = []

  constructor(first: PlannedChange) {
    this.#include(first)
  }

  get commit(): Commit {
    return { when: [...this.#when.values()], changes: this.#changes }
  }

  /** CB2. Answers whether the change found room. */
  add(change: PlannedChange): boolean {
    const { when, changes } = change.commit
    const added = when.filter(({ key }) => !this.#when.has(key)).length
    if (this.#when.size + added > OPS_PER_COMMIT_MAX) return false
    if (this.#changes.length + changes.length > OPS_PER_COMMIT_MAX) return false
    this.#include(change)
    return true
  }

  /** CB1. One view has one revision of a key, so changes never differ in what they expect of it. */
  #include(change: PlannedChange): void {
    for (const condition of change.commit.when) this.#when.set(condition.key, condition)
    this.#changes.push(...change.commit.changes)
    this.changes.push(change)
  }
}

/** A change that has a commit of its own. */
export function commitOf(change: PlannedChange): PlannedCommit {
  return { changes: [change], commit: change.commit }
}

/** CB3. `entries` are those of the conflict: the current ones of all keys of the commit's conditions. */
export function changesInConflict(
  { changes }: PlannedCommit,
  entries: readonly CoordinationEntry[],
): ReadonlySet<PlannedChange> {
  const found = new Map(entries.map((entry) => [entry.key, entry]))
  const holds = (condition: Condition): boolean => {
    const entry = found.get(condition.key)
    return 'modRevision' in condition
      ? (entry?.modRevision ?? 0) === condition.modRevision
      : (entry?.createRevision ?? 0) === condition.createRevision
  }
  return new Set(changes.filter(({ commit }) => !commit.when.every(holds)))
}
