// Parses the answer to a recovery of the control plane.

import { memberOf, numberOf, parseAnswer, textOf } from './service-answers.ts'

/** What a recovery has decided, as commands show it. */
export interface RecoveryShown {
  /** False: no node waited. */
  readonly isPerformed: boolean
  readonly number: number
  /** How many nodes had reported. */
  readonly reported: number
  /** The shards that were decided; `shards` has the first of them. */
  readonly total: number
  readonly shards: readonly {
    readonly path: string
    readonly epoch: number
    readonly from: string | undefined
    readonly replicas: readonly string[]
    readonly inSync: readonly string[]
  }[]
  /** Shards that the control plane does not know any more. */
  readonly unknown: readonly string[]
}

export function parseRecovery(text: string): RecoveryShown {
  return recoveryShown(parseAnswer(text))
}

/** As `parseRecovery`, for an answer that was parsed, or that this process has made. */
export function recoveryShown(value: unknown): RecoveryShown {
  return {
    isPerformed: memberOf(value, 'performed') === true,
    number: numberOf(value, 'recovery'),
    reported: textsOf(value, 'reported').length,
    total: numberOf(value, 'shard_count'),
    shards: elements(value, 'shards').map((shard) => ({
      path: pathOf(shard),
      epoch: numberOf(shard, 'epoch'),
      from: textOf(shard, 'from') || undefined,
      replicas: textsOf(shard, 'replicas'),
      inSync: textsOf(shard, 'in_sync'),
    })),
    unknown: elements(value, 'unknown').map(pathOf),
  }
}

function pathOf(shard: unknown): string {
  return `${textOf(shard, 'table_id')}/${textOf(shard, 'shard')}`
}

function textsOf(value: unknown, name: string): readonly string[] {
  return elements(value, name).filter((each) => typeof each === 'string')
}

function elements(value: unknown, name: string): readonly unknown[] {
  const member = memberOf(value, name)
  return Array.isArray(member) ? member : []
}
