import { ServiceError } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { Refusal } from '../shard/command/command.ts'
import type { AbortReason } from './transaction-counts.ts'
import type { TransactionPart } from './transaction-part.ts'

/** How a run ends. A conflict is a value: nothing was written, and the client decides what follows. */
export type RunOutcome =
  { readonly kind: 'committed'; readonly version: Timestamp } | TransactionConflict

/** The first key that stopped a run, with a message for the client. */
export interface TransactionConflict {
  readonly kind: 'conflict'
  readonly reason: Extract<AbortReason, 'version_changed' | 'key_held'>
  readonly table: string
  readonly key: Buffer
  readonly message: string
}

/** The conflict that a shard's refusal means to the client. */
export function conflictOf({ table }: TransactionPart, refusal: Refusal): TransactionConflict {
  const { key } = refusal
  const place = { kind: 'conflict', table: table.record.name, key } as const
  if (refusal.kind === 'key-held') {
    return { ...place, reason: 'key_held', message: 'another transaction is writing this document' }
  }
  const message = `version changed: it is ${refusal.found} now`
  return { ...place, reason: 'version_changed', message }
}

/** A key that a run waited for. */
export interface ContendedKey {
  readonly part: TransactionPart
  readonly key: Buffer
}

/** CONFLICT for a run whose deadline has passed; it names the key if the caller knows it. */
export function heldTooLong(contended: ContendedKey | undefined): ServiceError {
  const shown =
    contended === undefined
      ? 'keys of this write'
      : `key "${contended.key.toString()}" of table "${contended.part.table.record.name}"`
  return new ServiceError(
    'CONFLICT',
    `other transactions have held ${shown} for too long; try again`,
  )
}
