// A shorter history that fails like a long one.

import type { ClusterPlan, PlannedClient } from './cluster-plan.ts'

/** Runs a history. Answers how it failed, or undefined if it did not. */
export type RunPlan = (plan: ClusterPlan) => Promise<string | undefined>

/** What a history breaks, without its particulars: the rule of a violation, or the beginning of another error. */
export function kindOfFailure(message: string): string {
  return /^[^:(\n]*/.exec(message)?.[0]?.trim() ?? ''
}

/** A part of a plan that may be left out, in pieces: so many parts, and the plan with some of them. */
interface Leavable {
  countOf(plan: ClusterPlan): number
  without(plan: ClusterPlan, from: number, count: number): ClusterPlan
}

const FAULTS: Leavable = {
  countOf: ({ faults }) => faults.length,
  without: (plan, from, count) => ({ ...plan, faults: plan.faults.toSpliced(from, count) }),
}

const CLIENTS: Leavable = {
  countOf: ({ clients }) => clients.length,
  without: (plan, from, count) => ({ ...plan, clients: plan.clients.toSpliced(from, count) }),
}

/** The operations of all clients, counted one client after the other. */
const OPERATIONS: Leavable = {
  countOf: ({ clients }) => clients.reduce((sum, { operations }) => sum + operations.length, 0),
  without: (plan, from, count) => ({ ...plan, clients: operationsWithout(plan, from, count) }),
}

/**
 * Leaves out faults, clients and operations while the history still fails in the same kind of way: first many at
 * once, then one after the other. It stops when nothing more can go.
 */
export async function reducePlan(plan: ClusterPlan, run: RunPlan): Promise<ClusterPlan> {
  const failure = await run(plan)
  if (failure === undefined) return plan
  const kind = kindOfFailure(failure)
  const failsAlike: FailsAlike = async (shorter) => {
    const other = await run(shorter)
    return other !== undefined && kindOfFailure(other) === kind
  }
  let reduced = plan
  for (let size = Infinity; sizeOf(reduced) < size;) {
    size = sizeOf(reduced)
    for (const part of [FAULTS, CLIENTS, OPERATIONS]) {
      reduced = await leaveOut(part, reduced, failsAlike)
    }
  }
  return reduced
}

type FailsAlike = (plan: ClusterPlan) => Promise<boolean>

async function leaveOut(
  part: Leavable,
  plan: ClusterPlan,
  failsAlike: FailsAlike,
): Promise<ClusterPlan> {
  let kept = plan
  for (let count = Math.ceil(part.countOf(plan) / 2); count >= 1; count = Math.floor(count / 2)) {
    // From the end: what comes early is more often the cause of what comes late.
    for (let from = part.countOf(kept) - count; from > -count; from -= count) {
      const first = Math.max(0, from)
      const shorter = part.without(kept, first, from + count - first)
      if (await failsAlike(shorter)) kept = shorter
    }
  }
  return kept
}

function operationsWithout(
  { clients }: ClusterPlan,
  from: number,
  count: number,
): readonly PlannedClient[] {
  let at = 0
  return clients.map(({ name, operations }) => {
    const first = Math.max(0, from - at)
    const end = Math.max(0, from + count - at)
    at += operations.length
    return { name, operations: [...operations.slice(0, first), ...operations.slice(end)] }
  })
}

function sizeOf(plan: ClusterPlan): number {
  return [FAULTS, CLIENTS, OPERATIONS].reduce((sum, part) => sum + part.countOf(plan), 0)
}
