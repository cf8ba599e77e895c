// The keys that a command names, and the refusal of one that another shard owns. After a split, or by a map that is
// stale, a call may come to a shard that does not own its keys: no reader would find what it wrote there.

import { ServiceError } from '../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { shownKey } from '../../document/document-limits.ts'
import type { Command, CommandKind } from '../command/command.ts'
import { intersectRanges, rangeContains, sameRange, type KeyRange } from '../command/key-range.ts'

/** Compared in about a millisecond. */
const KEYS_PER_STEP = 4000

interface Keyed {
  readonly key: Buffer
}

const NO_KEYS: readonly Keyed[] = []

/**
 * The keys of each kind of command, in lists as the command has them. An anchor counts where its record lies, which
 * is with `begin`, `decide` and `forget`. `resolve` and `abandon` name a transaction alone.
 */
const KEYS_OF: {
  readonly [Kind in CommandKind]: (command: Command<Kind>) => readonly (readonly Keyed[])[]
} = {
  write: ({ checks, ops }) => [checks, ops],
  prepare: ({ checks, ops, begin, anchor }) => [
    checks,
    ops,
    begin === undefined ? NO_KEYS : [anchor],
  ],
  decide: ({ anchor }) => [[{ key: anchor }]],
  forget: ({ anchor }) => [[{ key: anchor }]],
  resolve: () => [],
  abandon: () => [],
  expire: ({ candidates }) => [candidates],
  retime: ({ documents }) => [documents],
  number: ({ keys }) => [keys.map((key) => ({ key }))],
  collect: ({ drops }) => [drops],
  enrich: ({ items }) => [items],
}

/** Throws RANGE_MOVED if the shard does not own a key of the command; answers the steps if it has many keys. */
export function assertOwnsKeysOf<Kind extends CommandKind>(
  range: KeyRange,
  command: Command<Kind>,
): Sliced<void> | undefined {
  if (ownsEverything(range)) return undefined
  const kind: Kind = command.kind
  const lists = KEYS_OF[kind](command)
  if (lists.some(({ length }) => length > KEYS_PER_STEP)) return assertInSteps(range, lists)
  for (const list of lists) for (const { key } of list) assertOwns(range, key)
  return undefined
}

function* assertInSteps(range: KeyRange, lists: readonly (readonly Keyed[])[]): Sliced<void> {
  const meter = new StepMeter(KEYS_PER_STEP)
  for (const list of lists) {
    for (const { key } of list) {
      assertOwns(range, key)
      if (meter.spend(1)) yield
    }
  }
}

/** Throws RANGE_MOVED if another shard owns the key. */
export function assertOwns(range: KeyRange, key: Buffer): void {
  const refusal = refusalOfKey(range, key)
  if (refusal !== undefined) throw refusal
}

/** RANGE_MOVED if another shard owns the key, for callers that must not throw at the call. */
export function refusalOfKey(range: KeyRange, key: Buffer): ServiceError | undefined {
  if (ownsEverything(range) || rangeContains(range, key)) return undefined
  return new ServiceError('RANGE_MOVED', `another shard owns the key ${shownKey(key.toString())}`)
}

/** RANGE_MOVED if another shard owns some of the keys. */
export function refusalOfRange(range: KeyRange, asked: KeyRange): ServiceError | undefined {
  if (ownsEverything(range)) return undefined
  const owned = intersectRanges(asked, range)
  if (owned !== undefined && sameRange(owned, asked)) return undefined
  return new ServiceError('RANGE_MOVED', 'another shard owns a part of the range; find it again')
}

function ownsEverything({ start, end }: KeyRange): boolean {
  return end === undefined && start.length === 0
}
