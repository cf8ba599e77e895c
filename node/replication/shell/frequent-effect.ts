import type { Effect } from '../core/effects.ts'

const FREQUENT = [
  'append',
  'send',
  'replicate',
  'commit',
  'read',
  'refuse_read',
  'confirm',
] as const

/** What a replica does all the time. Other effects belong to changes of its leadership or of the in-sync set. */
export type FrequentEffect = Extract<Effect, { kind: (typeof FREQUENT)[number] }>

export function isFrequent(effect: Effect): effect is FrequentEffect {
  return FREQUENT.some((kind) => kind === effect.kind)
}
