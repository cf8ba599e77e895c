// Counts the values that an index left out, by reason. The documents themselves were indexed.

import { FIELD_PATH_LENGTH_MAX } from './table-field.ts'

export type DropReason =
  /** The value does not have the type of its field. */
  | 'badValues'
  /** The value exceeds a limit: known fields, fields or values in a document, depth, or length. */
  | 'overLimit'

/** The limit of fields with counts of their own. Values of other fields count only in the sums. */
const FIELDS_MAX = 1000
/** The limit of fields in a report: those that lost most values. */
const REPORTED_FIELDS_MAX = 20

export type DropCounts = Readonly<Record<DropReason, number>>

/** The counts of one index. A value counts again if its document is indexed again. */
export interface DropReport extends DropCounts {
  /** By the name of the field. */
  readonly fields: Readonly<Record<string, DropCounts>>
}

export const NOTHING_DROPPED: DropReport = { badValues: 0, overLimit: 0, fields: {} }

/** Collects the counts of one index or of one document. */
export class DroppedValues {
  #all: DropCounts = { badValues: 0, overLimit: 0 }
  #byField: Map<string, DropCounts> | undefined

  get counts(): DropCounts {
    return this.#all
  }

  count(field: string, reason: DropReason): void {
    const one = { badValues: 0, overLimit: 0 }
    one[reason] = 1
    this.#all = sum(this.#all, one)
    this.#addTo(field, one)
  }

  add(other: DroppedValues): void {
    this.#all = sum(this.#all, other.#all)
    for (const [field, counts] of other.#byField ?? []) this.#addTo(field, counts)
  }

  report(): DropReport {
    const most = [...(this.#byField ?? [])]
      .toSorted(([, a], [, b]) => totalOf(b) - totalOf(a))
      .slice(0, REPORTED_FIELDS_MAX)
    return { ...this.#all, fields: Object.fromEntries(most) }
  }

  #addTo(field: string, counts: DropCounts): void {
    this.#byField ??= new Map()
    const known = this.#byField.get(field)
    const isTooMuch = this.#byField.size >= FIELDS_MAX || field.length > FIELD_PATH_LENGTH_MAX
    if (known === undefined && isTooMuch) return
    this.#byField.set(field, known === undefined ? counts : sum(known, counts))
  }
}

/** Adds up the reports of several shards. */
export function sumOfReports(reports: readonly DropReport[]): DropReport {
  const fields = new Map<string, DropCounts>()
  let all: DropCounts = { badValues: 0, overLimit: 0 }
  for (const report of reports) {
    all = sum(all, report)
    for (const [name, counts] of Object.entries(report.fields)) {
      fields.set(name, sum(fields.get(name) ?? { badValues: 0, overLimit: 0 }, counts))
    }
  }
  const most = [...fields].toSorted(([, a], [, b]) => totalOf(b) - totalOf(a))
  return { ...all, fields: Object.fromEntries(most.slice(0, REPORTED_FIELDS_MAX)) }
}

function sum(a: DropCounts, b: DropCounts): DropCounts {
  return { badValues: a.badValues + b.badValues, overLimit: a.overLimit + b.overLimit }
}

function totalOf({ badValues, overLimit }: DropCounts): number {
  return badValues + overLimit
}
