// The rows of the tables of docs/reference/handbook.md, which are made by `npm run docs`.

import { CONDITION_MEANINGS } from '../kinds/cluster/conditions.ts'
import { PROCEDURES } from './core/advice.ts'
import type { Advice } from './core/advice.ts'
import { CONDITION_ADVICE, slugOf } from './conditions/advice-for.ts'
import { OPERATIONS, PHASE_MEANINGS } from './operations.ts'

/** The cells of one row. */
export type Row = readonly string[]

/** By condition, its meaning and a row for each reason: reason, how it is, what it means, what to do, a command. */
export function conditionSections(): readonly {
  readonly type: string
  readonly means: string
  readonly rows: readonly Row[]
}[] {
  const meanings: Readonly<Record<string, string>> = CONDITION_MEANINGS
  return Object.entries(CONDITION_ADVICE).map(([type, reasons]) => ({
    type,
    means: meanings[type] ?? '',
    rows: Object.entries<Advice>(reasons).map(([reason, advice]) => [
      `\`${reason}\``,
      advice.tone,
      advice.means,
      actCell(advice),
      advice.look === undefined ? '' : `\`${advice.look}\``,
    ]),
  }))
}

function actCell({ act, procedure }: Advice): string {
  if (procedure === undefined) return act
  const title = PROCEDURES[procedure]
  return `${act}: [${title}](#${slugOf(title)})`
}

/** Operation, what it is, its phases, and how it is taken back. */
export function operationRows(): readonly Row[] {
  return Object.entries(OPERATIONS).map(([type, { means, phases, back }]) => [
    `\`${type}\``,
    means,
    phases.map((phase) => `\`${phase}\``).join(', '),
    back,
  ])
}

/** Phase, the operations that have it, and what happens in it. */
export function phaseRows(): readonly Row[] {
  return Object.entries(PHASE_MEANINGS).map(([phase, means]) => [
    `\`${phase}\``,
    Object.entries(OPERATIONS)
      .filter(([, { phases }]) => phases.some((one) => one === phase))
      .map(([type]) => `\`${type}\``)
      .join(', '),
    means,
  ])
}
