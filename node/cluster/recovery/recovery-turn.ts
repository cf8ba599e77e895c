// Of several recoveries of one control plane, the one that began last decides (CPR4).

import { ServiceError } from '../../../lib/errors.ts'
import type { Coordination, CoordinationEntry } from '../../coordination/coordination.ts'
import { ATTEMPT_KEY, RECOVERED_KEY, decodeRecovered, encodeRecovered } from './recovery-records.ts'

const OVERTAKEN =
  'another recovery has begun or ended since this one began, and takes its place; ' +
  'run this again to hear how it ended'

/** Another recovery has begun or ended since this one began, and this one decides nothing more. */
export class OvertakenError extends ServiceError {
  constructor() {
    super('CONFLICT', OVERTAKEN)
  }
}

/** A condition by the revision that a key had. */
export interface SeenKey {
  readonly key: string
  readonly modRevision: number
}

/** Conditions of each step of one recovery. They hold until another one begins or ends. */
export interface RecoveryTurn {
  readonly when: readonly SeenKey[]
  /** The number of the recovery before it; 0 if there was none. */
  readonly last: number
}

/** The conditions and the number that are there before a recovery begins. */
export async function seeLastRecovery(coordination: Coordination): Promise<RecoveryTurn> {
  const done = await coordination.get(RECOVERED_KEY)
  const seen = { key: RECOVERED_KEY, modRevision: done?.modRevision ?? 0 }
  return { when: [seen], last: decodeRecovered(done?.value) }
}

/** Takes the turn of those that began before. Throws OvertakenError if another one has ended since `before`. */
export async function beginRecovery(
  coordination: Coordination,
  { when, last }: RecoveryTurn,
): Promise<RecoveryTurn> {
  const outcome = await coordination.commit({
    when,
    changes: [{ type: 'put', key: ATTEMPT_KEY, value: encodeRecovered(last) }],
  })
  if (outcome.kind === 'conflict') throw new OvertakenError()
  return { when: [...when, { key: ATTEMPT_KEY, modRevision: outcome.revision }], last }
}

/** `entries` are those of a conflict with the conditions of the turn. */
export function assertNotOvertaken(
  { when }: RecoveryTurn,
  entries: readonly CoordinationEntry[],
): void {
  for (const { key, modRevision } of when) {
    const now = entries.find((entry) => entry.key === key)
    if ((now?.modRevision ?? 0) !== modRevision) throw new OvertakenError()
  }
}
