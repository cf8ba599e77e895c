// Counts the values that an index left out. See host/drop-report.ts.

import { FIELD_PATH_LENGTH_MAX } from '../../../schema/table-field.ts'
import {
  dropReportOf,
  NO_DROPS,
  sumOfDrops,
  type DropCounts,
  type DropReason,
  type DropReport,
} from '../../host/drop-report.ts'

/** The limit of fields with counts of their own. Values of other fields count only in the sums. */
const FIELDS_MAX = 1000

/** Collects the counts of one index or of one document. */
export class DroppedValues {
  #all = NO_DROPS
  #byField: Map<string, DropCounts> | undefined

  get counts(): DropCounts {
    return this.#all
  }

  count(field: string, reason: DropReason): void {
    const one = { badValues: 0, overLimit: 0 }
    one[reason] = 1
    this.#all = sumOfDrops(this.#all, one)
    this.#addTo(field, one)
  }

  add(other: DroppedValues): void {
    this.#all = sumOfDrops(this.#all, other.#all)
    for (const [field, counts] of other.#byField ?? []) this.#addTo(field, counts)
  }

  report(): DropReport {
    return dropReportOf(this.#all, this.#byField ?? [])
  }

  #addTo(field: string, counts: DropCounts): void {
    this.#byField ??= new Map()
    const known = this.#byField.get(field)
    const isTooMuch = this.#byField.size >= FIELDS_MAX || field.length > FIELD_PATH_LENGTH_MAX
    if (known === undefined && isTooMuch) return
    this.#byField.set(field, known === undefined ? counts : sumOfDrops(known, counts))
  }
}
