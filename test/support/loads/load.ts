import { valueOf } from './script-texts.ts'
import type { Tally, VersionLedger } from './history.ts'
import type { Random } from '../../../lib/random.ts'
import type { StoreClient } from '../servers/store-client.ts'

/** One operation of one client; called again and again until the store dies. */
export type ClientStep = (store: StoreClient) => Promise<void>

export interface IndexedTable {
  readonly table: string
  /** A number in every document, which changes with every write. */
  readonly field: string
  /** Whether documents vanish by themselves. */
  readonly expires?: boolean
  /** Whether the indexes of type embeddings have for each document the vector `vectorOf` its number. */
  readonly hasVectors?: boolean
  /** A query for a word that the documents with this number have, and no others. */
  readonly wordOf?: (value: unknown) => unknown
}

/** What all loads of one test share. */
export interface LoadContext {
  readonly random: Random
  readonly versions: VersionLedger
  /** Told about each acknowledged write. */
  readonly tally: Tally
}

/**
 * Clients of one kind, and what they believe about the store.
 *
 * Contract:
 * - A step rejects with ConnectionLost when the store dies under it, and with anything else only
 *   when the store broke a promise. Steps of different clients run at once.
 * - `check` is called while no step runs, after a restart: what it sees must fit every answer that
 *   any step ever got.
 */
export interface Load {
  /** Tables whose text index is compared with their documents after every check. */
  readonly tables: readonly IndexedTable[]
  /** Creates tables and first documents in a new store. */
  prepare(store: StoreClient): Promise<void>
  readonly clients: readonly ClientStep[]
  check(store: StoreClient): Promise<void>
}

/** How documents with vectors are written: the number is the distance from [0, 1], squared. */
export function vectorOf(number: number): readonly [number, number] {
  return [number, 1]
}

/** First characters of keys, one on each shard of a table made with `FOUR_SHARDS`. */
export const SHARD_PREFIXES = ['a', 'h', 'o', 'u'] as const
/** A key of the shard whose turn it is, in one of many scripts. It has one slash. */
export function scatteredKey(index: number, kind = ''): string {
  return `${SHARD_PREFIXES[index % SHARD_PREFIXES.length] ?? ''}/${kind}${valueOf(index)}`
}

export const FOUR_SHARDS = { split_keys: ['g', 'n', 't'] }

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)]!
}

export function countTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
