// What is going to happen in a history of a cluster: its keys, what clients do, and which faults come when. All
// of it follows from the seed, and each part has dice of its own: what is left out changes nothing else.
//
//   round   ├─ burst ─┬──────── calm ────────┤├─ burst ─┬──── …
//   clients  ▪▪▪▪▪▪▪▪   ▪          ▪            ▪▪▪▪▪▪▪▪
//   faults      ✸                ✸                ✸
//
// In a burst all clients are busy at once, and a fault comes in its middle: between a prepare and its decision,
// between a decision and its resolution. In the calm the cluster finds its new leaders.

import { Dice } from '../dice.ts'
import { CLUSTER_FAULTS, type ClusterFault } from './cluster-faults.ts'
import { chooseKeys, type ClusterKeys } from './cluster-keys.ts'

export const OPERATION_KINDS = [
  /** Writes one register. */
  'write',
  /** Reads one register. */
  'read',
  /** Writes several registers at once. */
  'pair',
  /** Writes registers under an idempotency key, again and again until it is told how that ended. */
  'keep',
  /** Adds to the set. */
  'add',
  /** Reads all at one moment. */
  'scan',
  /** Moves money, if what was read holds. */
  'transfer',
  /** Reads some cells and writes others, if what was read holds. */
  'transact',
  /** Writes cells without a look at them. */
  'blind',
  /** Adds one to a counter. */
  'count',
  /** Adds one to a counter under an idempotency key, again and again until it is told that it did. */
  'once',
  /** Reads a counter. */
  'tally',
  /** Writes a register and a document of the table that comes and goes. */
  'cross',
  /** Drops that table and creates it again. */
  'drop',
  /** Reads that table. */
  'peek',
  /** Writes a document that expires. */
  'lend',
  /** Looks for such a document. */
  'seek',
] as const

export type OperationKind = (typeof OPERATION_KINDS)[number]

/** Operations of tables that only some histories have. */
export const PASSING_KINDS: readonly OperationKind[] = ['cross', 'drop', 'peek']
export const LOAN_KINDS: readonly OperationKind[] = ['lend', 'seek']
const TABLE_CHANCE = 0.15

/** How often each is chosen, beside the others. */
const WEIGHTS: Record<OperationKind, number> = {
  write: 3,
  read: 4,
  pair: 3,
  keep: 3,
  add: 1,
  scan: 3,
  transfer: 3,
  transact: 5,
  blind: 2,
  count: 2,
  tally: 1,
  once: 2,
  cross: 4,
  drop: 1,
  peek: 1,
  lend: 3,
  seek: 6,
}

/** An operation of a client begins at this time, or when the one before has ended. */
export interface PlannedOperation {
  readonly atMs: number
  readonly kind: OperationKind
  readonly seed: number
}

export interface PlannedClient {
  readonly name: string
  readonly operations: readonly PlannedOperation[]
}

export interface PlannedFault {
  readonly atMs: number
  readonly kind: ClusterFault
  readonly seed: number
}

/** Times count from the moment at which the table is open. */
export interface ClusterPlan {
  readonly seed: number
  readonly nodes: number
  /** Whether records are sealed by keys of the secret, which costs time; otherwise the network is private, as with TLS. */
  readonly hasSecret: boolean
  readonly hasWrongClocks: boolean
  /** Whether few calls may wait between two nodes, so that many are refused. */
  readonly isTight: boolean
  readonly keys: ClusterKeys
  readonly clients: readonly PlannedClient[]
  readonly faults: readonly PlannedFault[]
  readonly troubleMs: number
}

export interface PlanOptions {
  readonly seed: number
  /** Those that may happen; default: a choice by the seed. */
  readonly faults?: readonly ClusterFault[] | undefined
  /** Those that happen, and how often beside each other; default: a choice by the seed. */
  readonly operations?: Partial<Record<OperationKind, number>> | undefined
  readonly rounds?: number | undefined
  readonly clients?: number | undefined
}

const ROUNDS = 4
const ROUND_MS = 2400
const CLIENTS = 4
/** Within it all clients begin, and a fault comes. */
const BURST_MS = 30
const BURST_OPERATIONS_MAX = 4

export function planHistory(options: PlanOptions): ClusterPlan {
  const { seed, rounds = ROUNDS, clients = CLIENTS } = options
  const dice = Dice.of(seed)
  const kinds = options.faults ?? chooseFaults(dice)
  const weights = options.operations ?? chooseWeights(dice)
  const starts = Array.from({ length: rounds }, (_, at) => 50 + at * ROUND_MS)
  return {
    seed,
    nodes: dice.chance(0.1) ? 4 : 3,
    hasSecret: dice.chance(0.1),
    hasWrongClocks: kinds.includes('clocks'),
    isTight: kinds.includes('overload'),
    keys: chooseKeys(Dice.of(dice.seed())),
    clients: Array.from({ length: clients }, (_, at) => ({
      name: `c${at + 1}`,
      operations: starts.flatMap((atMs) => planOperations(Dice.of(dice.seed()), atMs, weights)),
    })),
    faults: starts.flatMap((atMs) => planFaults(Dice.of(dice.seed()), atMs, kinds)),
    troubleMs: 50 + rounds * ROUND_MS,
  }
}

function chooseFaults(dice: Dice): readonly ClusterFault[] {
  return dice.some(CLUSTER_FAULTS, 1 + Math.floor(dice.between(0, 6)))
}

/** Each history does much of some and nothing of others. */
function chooseWeights(dice: Dice): Partial<Record<OperationKind, number>> {
  const left = [PASSING_KINDS, LOAN_KINDS].flatMap((kinds) =>
    dice.chance(TABLE_CHANCE) ? [] : kinds,
  )
  const kinds = OPERATION_KINDS.filter((kind) => !left.includes(kind))
  const weights = kinds.map((kind): [OperationKind, number] => [
    kind,
    WEIGHTS[kind] * (dice.pick([0, 1, 1, 3]) ?? 1),
  ])
  const isIdle = weights.every(([, weight]) => weight === 0)
  return isIdle ? { write: 1, read: 1 } : Object.fromEntries(weights)
}

/** Whether a client does something of these kinds. */
export function plansAny({ clients }: ClusterPlan, kinds: readonly OperationKind[]): boolean {
  return clients.some(({ operations }) => operations.some(({ kind }) => kinds.includes(kind)))
}

function planOperations(
  dice: Dice,
  startMs: number,
  weights: Partial<Record<OperationKind, number>>,
): readonly PlannedOperation[] {
  const chances = OPERATION_KINDS.flatMap((kind) =>
    Array<OperationKind>(weights[kind] ?? 0).fill(kind),
  )
  const operationAt = (atMs: number): PlannedOperation => ({
    atMs,
    kind: dice.pick(chances) ?? 'read',
    seed: dice.seed(),
  })
  const burst: PlannedOperation[] = []
  const count = 1 + Math.floor(dice.between(0, BURST_OPERATIONS_MAX))
  for (let i = 0; i < count; i++) burst.push(operationAt(startMs + dice.between(0, BURST_MS)))
  burst.sort((a, b) => a.atMs - b.atMs)
  return [...burst, operationAt(startMs + dice.between(2 * BURST_MS, ROUND_MS))]
}

function planFaults(
  dice: Dice,
  startMs: number,
  kinds: readonly ClusterFault[],
): readonly PlannedFault[] {
  const faultAt = (atMs: number): readonly PlannedFault[] => {
    const kind = dice.pick(kinds)
    return kind === undefined ? [] : [{ atMs, kind, seed: dice.seed() }]
  }
  const aimed = faultAt(startMs + dice.between(0, 1.5 * BURST_MS))
  const other = faultAt(startMs + dice.between(0, ROUND_MS))
  return dice.chance(0.6) ? [...aimed, ...other].toSorted((a, b) => a.atMs - b.atMs) : aimed
}
