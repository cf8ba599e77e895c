// Which files of a tier share a process of mocha, and which run side by side.
//
// Tests of the whole operator wait most of the time, each in a namespace of its own, so that their files run side by side. Others
// of tier api change what has no namespace, such as kinds, roles and policies: they take turns. Files named *.alone.test.ts change
// the tier itself.

import path from 'node:path'
import type { TierName } from './support/tier.ts'

export interface Turns {
  /** Each is for one process, in the order in which they start. */
  readonly sideBySide: readonly (readonly string[])[]
  /** For one process, when nothing else runs. */
  readonly alone: readonly string[]
}

const ALONE = /\.alone\.test\.ts$/
const OF_OPERATOR = /^operator-.*\.test\.ts$/
/** They take minutes: what begins last is to be short. */
const LONGEST: readonly string[] = [
  'operator-rollouts.test.ts',
  'operator-drains.test.ts',
  'operator-process.test.ts',
  'operator-restarts.test.ts',
]

export function turnsOf(tier: TierName, files: readonly string[]): Turns {
  const together = files.filter((file) => !ALONE.test(file))
  const alone = files.filter((file) => ALONE.test(file))
  // Pods of one test would take the processors from another one that measures a gap.
  if (tier === 'node') return { sideBySide: [together], alone }
  const ofOperator = together.filter(isOfOperator).toSorted((one, other) => rank(one) - rank(other))
  const others = together.filter((file) => !isOfOperator(file))
  return { sideBySide: [others, ...ofOperator.map((file) => [file])], alone }
}

function isOfOperator(file: string): boolean {
  return OF_OPERATOR.test(path.basename(file))
}

function rank(file: string): number {
  const at = LONGEST.indexOf(path.basename(file))
  return at < 0 ? LONGEST.length : at
}
