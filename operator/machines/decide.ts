// One pass of the operator over one cluster: what was read in, at most one step and the whole status out. Read it as the
// diagram: the first machine that has a step takes it.
//
// Invariants:
//   DC1  Every observation gives a decision.
//   DC2  A pass takes at most one step.
//   DC3  What a step needs to be found again was in the status that the pass has read, or is the same in every pass.
//   DC4  With an observation that is settled no step is taken, and the status is equal to the one that was read.

import { operate, pausedMove } from './operations/choosing.ts'
import { autoGrow, withGrownSize } from './objects/auto-grow.ts'
import { tendClaims } from './objects/claims.ts'
import type { Decision } from './pass/decision.ts'
import { deleteCluster } from './operations/deletion.ts'
import { replaceEtcdMembers, withEtcdMembers } from './etcd/members.ts'
import { rollEtcd } from './etcd/rollout.ts'
import { scaleEtcd } from './etcd/scaling.ts'
import { tendEtcd } from './etcd/upkeep.ts'
import { keepSets, withAddedPods } from './objects/keeping.ts'
import { replaceFormerNodes, withMembers } from './objects/members.ts'
import { memoryOf } from './pass/memory.ts'
import type { Memory } from './pass/memory.ts'
import type { Observed } from './observed/observed.ts'
import { move } from './pass/pass.ts'
import type { Move, Pass } from './pass/pass.ts'
import { endStrayDrains } from './scale-down/stray-drains.ts'
import { specProblem } from './status/spec-verdict.ts'
import { decisionOf } from './status/verdict.ts'
import { growClaims } from './objects/storage.ts'
import { wantedOf } from './pass/wanted.ts'

/** Caches that have heard nothing for three minutes are not acted upon. A quiet watch has a bookmark each minute or so. */
const CACHE_AGE_MAX_MS = 3 * 60_000

export function decide(observed: Observed): Decision {
  const memory = memoryOf(observed.cluster.status)
  const read: Pass = { observed, wanted: wantedOf(observed.cluster.spec), memory }
  const pass = { ...read, memory: learned(read) }
  return decisionOf(pass, nextMove(pass))
}

/** The memory with what is new in this observation. */
function learned(read: Pass): Memory {
  if (read.observed.cluster.deletedAtMs !== undefined) return read.memory
  const withSize = { ...read, memory: withGrownSize(read) }
  const withPods = { ...withSize, memory: withAddedPods(withSize) }
  const withNodes = { ...withPods, memory: withMembers(withPods) }
  return withEtcdMembers(withNodes)
}

function nextMove(pass: Pass): Move {
  const { observed, memory } = pass
  if (observed.cluster.deletedAtMs !== undefined) return deleteCluster(pass)
  if (!observed.cluster.hasFinalizer) {
    return move(pass, memory.operation, { kind: 'add_finalizer' })
  }
  if (observed.cluster.overrides.isPaused) return pausedMove(pass)
  if (observed.cacheAgeMs > CACHE_AGE_MAX_MS) return stale(pass)
  // Volumes grow before anything is asked of pods, the store or the spec: a full one may be what ails them.
  const growing = growClaims(pass)
  if (growing !== undefined) return growing
  const grown = autoGrow(pass)
  if (grown !== undefined) return grown
  if (specProblem(pass) !== undefined) return finishOnly(pass, 'InvalidSpec')
  if (observed.secretProblems.length > 0) return finishOnly(pass, 'WaitingForFreshState')
  const tending = applyChildren(pass) ?? repair(pass)
  return tending === undefined ? work(pass) : besides(tending, work(pass))
}

/** What comes before the work ends nothing of what the work waits for: people are not told that it went on. */
function besides(first: Move, { waiting }: Move): Move {
  return first.waiting !== undefined || waiting === undefined ? first : { ...first, waiting }
}

function stale(pass: Pass): Move {
  const message = 'the API server has not been heard of for too long'
  return { memory: pass.memory, waiting: { reason: 'WaitingForFreshState', message } }
}

/** A spec that cannot be followed keeps nothing from being finished that cannot be taken back. */
function finishOnly(pass: Pass, reason: 'InvalidSpec' | 'WaitingForFreshState'): Move {
  const { operation } = pass.memory
  if (operation?.type === 'ScaleDown' && operation.targetOrdinal !== undefined) {
    return operate(pass)
  }
  const message =
    reason === 'InvalidSpec' ? 'the spec is not valid' : 'Secrets that the spec names are missing'
  return { memory: pass.memory, waiting: { reason, message } }
}

/** What may be applied at any time. */
function applyChildren(pass: Pass): Move | undefined {
  const { children } = pass.observed
  if (children.outdated.length > 0) {
    return move(pass, pass.memory.operation, { kind: 'apply_children', names: children.outdated })
  }
  if (children.surplus.length > 0) {
    return move(pass, pass.memory.operation, { kind: 'delete_children', names: children.surplus })
  }
  return undefined
}

/** Mends what differs without a new wish: sets, claims, former nodes, stray drains, members of etcd. */
function repair(pass: Pass): Move | undefined {
  return (
    keepSets(pass) ??
    tendClaims(pass) ??
    replaceFormerNodes(pass) ??
    endStrayDrains(pass) ??
    replaceEtcdMembers(pass)
  )
}

/** What the spec asks for. etcd has its turn between two operations. */
function work(pass: Pass): Move {
  const isBetween = pass.memory.operation === undefined && !pass.memory.isHibernated
  const ofEtcd = isBetween ? (scaleEtcd(pass) ?? rollEtcd(pass) ?? tendEtcd(pass)) : undefined
  return ofEtcd ?? operate(pass)
}
