import type { Dice } from '../dice.ts'

export const FIRST_BALANCE = 100

/** The keys of a history. Few of them, so that their users meet. */
export interface ClusterKeys {
  /** One for each shard of the table. */
  readonly prefixes: readonly string[]
  readonly splitKeys: readonly string[]
  /** Keys whose single histories are checked. */
  readonly registers: readonly string[]
  readonly accounts: readonly string[]
  /** Keys of the transactions whose order is checked. */
  readonly cells: readonly string[]
  readonly counters: readonly string[]
}

export function chooseKeys(dice: Dice): ClusterKeys {
  const prefixes = dice.chance(0.6) ? ['a', 'q'] : ['a', 'h', 'q']
  const splitKeys = prefixes.slice(1).map((_, at) => (at === 0 ? 'g' : 'p'))
  const accounts = 1 + Math.floor(dice.between(0, 2))
  const cells = 1 + Math.floor(dice.between(0, 2))
  const keysOf = (letter: string, count: number): readonly string[] =>
    prefixes.flatMap((prefix) => Array.from({ length: count }, (_, i) => `${prefix}/${letter}${i}`))
  return {
    prefixes,
    splitKeys,
    registers: keysOf('r', 1),
    accounts: keysOf('b', accounts),
    cells: keysOf('x', cells),
    counters: keysOf('n', 1),
  }
}
