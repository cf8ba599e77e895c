/** A document of a transaction, by its table and its key. */
export type Place = readonly [table: string, key: string]

/** Two share a shard if the tables are split at "g", "n" and "t", and at "m"; the others do not. */
export const PLACES: readonly Place[] = [
  ['alpha', 'a-1'],
  ['alpha', 'a-2'],
  ['alpha', 'h-1'],
  ['alpha', 'p-1'],
  ['alpha', 'w-1'],
  ['beta', 'c-1'],
  ['beta', 'x-1'],
]
