// Which operation is in flight, and which comes first.
//
// Invariants:
//   CH1  At most one operation is in flight; another one begins only when it is over or was taken back.
//   CH2  A scale-down is the last choice: it is the only one that cannot be undone. A scale-up is the first after sleep:
//        more nodes make a rollout safer.

import type { ClusterOperation, OperationType } from '../../kinds/cluster/operation.ts'
import { beginCreate, create } from './create.ts'
import { beginHibernate, beginResume, hibernate, resume } from './hibernation.ts'
import { freshStore, move, wait } from '../pass/pass.ts'
import type { Move, Pass, Waiting } from '../pass/pass.ts'
import { beginRollout, isAtSafePoint, mendsPods, rollout, rolloutType } from '../rollout/rollout.ts'
import { beginScaleDown, mayCancel, scaleDown, yieldScaleDown } from '../scale-down/scale-down.ts'
import { beginScaleUp, scaleUp } from './scale-up.ts'
import { beginResize, needsNewSet, resize } from '../objects/storage.ts'

type Machine = (pass: Pass, operation: ClusterOperation) => Move

const MACHINES: Readonly<Record<Exclude<OperationType, 'Delete'>, Machine>> = {
  Create: create,
  ScaleUp: scaleUp,
  Upgrade: rollout,
  ConfigChange: rollout,
  Restart: rollout,
  ScaleDown: scaleDown,
  Resize: resize,
  Hibernate: hibernate,
  Resume: resume,
}

const ROLLOUTS: readonly OperationType[] = ['Upgrade', 'ConfigChange', 'Restart']

/** A step of the operation in flight, or the beginning of the next one, or nothing. */
export function operate(pass: Pass): Move {
  const { operation } = pass.memory
  // No machine deletes here: this object is not being deleted.
  if (operation === undefined || operation.type === 'Delete') return begin(pass)
  const next = nextOperation(pass)
  const yielded = yieldTo(pass, operation, next)
  if (yielded !== undefined) return yielded
  return MACHINES[operation.type](pass, operation)
}

function begin(pass: Pass): Move {
  const next = nextOperation(pass)
  const { memory, wanted } = pass
  // Before a first start there is nothing to stop.
  const sleeps = memory.replicas === 0 ? wanted.isHibernated : memory.isHibernated
  const here = { ...pass, memory: { ...memory, isHibernated: sleeps } }
  if (next === undefined) return move(here, undefined)
  const waiting = mayBegin(pass, next.type)
  if (waiting === undefined) return move(here, next)
  return { ...move(pass, undefined), waiting }
}

/** What the spec asks for that is not so yet, the most urgent thing first (CH2). */
export function nextOperation(pass: Pass): ClusterOperation | undefined {
  const { memory, wanted } = pass
  if (memory.replicas === 0) return wanted.isHibernated ? undefined : beginCreate(pass)
  if (wanted.isHibernated) return memory.isHibernated ? undefined : beginHibernate(pass)
  if (memory.isHibernated) return beginResume(pass)
  if (wanted.replicas > memory.replicas && !mendsPods(pass)) return beginScaleUp(pass)
  const type = rolloutType(pass)
  if (type !== undefined) return beginRollout(pass, type)
  if (needsNewSet(pass)) return beginResize(pass)
  return wanted.replicas < memory.replicas ? beginScaleDown(pass) : undefined
}

function mayBegin({ wanted, observed }: Pass, type: OperationType): Waiting | undefined {
  if (!ROLLOUTS.includes(type)) return undefined
  if (!wanted.rollsPods) {
    return { reason: 'UpdatesPaused', message: 'spec.updateStrategy.type is Paused' }
  }
  if (observed.mayRoll) return undefined
  return { reason: 'WaitingForRolloutSlot', message: 'other clusters are being rolled' }
}

/** What the operation in flight does for another one that comes before it. */
function yieldTo(
  pass: Pass,
  operation: ClusterOperation,
  next: ClusterOperation | undefined,
): Move | undefined {
  if (next === undefined || next.type === operation.type) return undefined
  return YIELDS[operation.type]?.(pass, operation, next)
}

type Yield = (pass: Pass, operation: ClusterOperation, next: ClusterOperation) => Move | undefined

/** The others are finished first. */
const YIELDS: Partial<Record<OperationType, Yield>> = {
  Create: yieldCreate,
  Upgrade: yieldRollout,
  ConfigChange: yieldRollout,
  Restart: yieldRollout,
  ScaleUp: yieldScaleUp,
  ScaleDown: yieldDrain,
}

/** A first start that hangs must not keep out the spec that mends it. */
function yieldCreate(pass: Pass, operation: ClusterOperation, next: ClusterOperation) {
  if (operation.phase !== 'StartingNodes' || pass.observed.nodes.set === undefined) return undefined
  if (pass.wanted.isHibernated) return move(pass, undefined)
  const isChanged =
    pass.observed.nodes.set.template.digest !== pass.observed.desired.template.digest ||
    next.type === 'ScaleUp'
  return isChanged ? move(pass, undefined) : undefined
}

function yieldScaleUp(pass: Pass, operation: ClusterOperation, next: ClusterOperation) {
  const isMended = operation.phase === 'WaitingForNodes' && mendsPods(pass)
  return next.type === 'Hibernate' || isMended ? move(pass, undefined) : undefined
}

/** Between two pods, or at one that cannot start, the walk may be left: it is found again from the revisions. */
function yieldRollout(pass: Pass, operation: ClusterOperation, next: ClusterOperation) {
  const comesFirst = next.type === 'ScaleUp' || next.type === 'Hibernate'
  return comesFirst && isAtSafePoint(pass, operation) ? move(pass, undefined) : undefined
}

/**
 * A drain that advances is waited for. One that cannot begin or is stuck makes room for everything else: it is the spec's
 * last wish, and comes back.
 */
function yieldDrain(pass: Pass, operation: ClusterOperation, next: ClusterOperation) {
  if (!mayCancel(operation)) return undefined
  if (operation.phase === 'Canceling') return yieldScaleDown(pass, operation)
  if (next.type === 'ScaleUp' || next.type === 'Hibernate') return yieldScaleDown(pass, operation)
  if (mayBegin(pass, next.type) !== undefined) return undefined
  if (hasNoServer(pass)) return move(pass, undefined)
  const reason = scaleDown(pass, operation).waiting?.reason
  const isStuck = reason === 'Blocked' || reason === 'Stalled' || reason === 'WaitingForEtcd'
  return isStuck ? yieldScaleDown(pass, operation) : undefined
}

/**
 * No pod can run as it is: the store that a drain waits for comes with a template that mends them. What the store was asked for
 * is taken back as a stray drain, when it answers.
 */
function hasNoServer(pass: Pass): boolean {
  return freshStore(pass) === undefined && pass.observed.nodes.pods.every(({ isReady }) => !isReady)
}

export function pausedMove(pass: Pass): Move {
  const { operation } = pass.memory
  const waiting: Waiting = { reason: 'Paused', message: 'quarry.dev/paused is set' }
  return operation === undefined
    ? { memory: pass.memory, waiting }
    : wait(pass, operation, waiting.reason, waiting.message)
}
