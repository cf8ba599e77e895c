// What may happen to a journal of replicated logs.

import * as fc from 'fast-check'

export const LOGS = ['000000000000000a', '000000000000000b', '000000000000000c'] as const

/** What happens. `log` is an index; shares are of what there is to choose from. */
export type Step =
  | { readonly kind: 'append'; readonly log: number; readonly sizes: readonly number[] }
  | { readonly kind: 'promise'; readonly log: number; readonly more: number }
  | { readonly kind: 'truncate'; readonly log: number; readonly share: number }
  | { readonly kind: 'restart'; readonly log: number; readonly ahead: number }
  | { readonly kind: 'commit'; readonly log: number; readonly share: number }
  | { readonly kind: 'flush'; readonly log: number }
  | { readonly kind: 'idle' }
  | { readonly kind: 'crash' }

const logIndex = fc.nat({ max: LOGS.length - 1 })
const share = fc.double({ min: 0, max: 1, noNaN: true })
const size = fc.oneof(fc.nat({ max: 30 }), fc.integer({ min: 600, max: 2500 }))

export const STEPS: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('append' as const),
        log: logIndex,
        sizes: fc.array(size, { minLength: 1, maxLength: 4 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('truncate' as const), log: logIndex, share }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('promise' as const),
        log: logIndex,
        more: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('restart' as const),
        log: logIndex,
        ahead: fc.nat({ max: 5 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('commit' as const), log: logIndex, share }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('flush' as const), log: logIndex }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('idle' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  ),
  { minLength: 10, maxLength: 60, size: 'max' },
)
