// Which values of documents an index left out, and why. The documents themselves were indexed.

export type DropReason =
  /** Not of the type of their field. */
  | 'badValues'
  /** Beyond a limit: of fields known, fields or values in a document, depth, length. */
  | 'overLimit'

/** Fields that a report names: those that lost most. */
const REPORTED_FIELDS_MAX = 20

export type DropCounts = Readonly<Record<DropReason, number>>

/** Counted as documents were indexed: a value counts again when its document is. */
export interface DropReport extends DropCounts {
  /** By the field's name. */
  readonly fields: Readonly<Record<string, DropCounts>>
}

export const NO_DROPS: DropCounts = { badValues: 0, overLimit: 0 }
export const NOTHING_DROPPED: DropReport = { ...NO_DROPS, fields: {} }

export function dropReportOf(
  all: DropCounts,
  byField: Iterable<readonly [string, DropCounts]>,
): DropReport {
  const most = [...byField]
    .toSorted(([, a], [, b]) => totalOf(b) - totalOf(a))
    .slice(0, REPORTED_FIELDS_MAX)
  return { ...all, fields: Object.fromEntries(most) }
}

/** Of several shards. */
export function sumOfReports(reports: readonly DropReport[]): DropReport {
  const fields = new Map<string, DropCounts>()
  let all = NO_DROPS
  for (const report of reports) {
    all = sumOfDrops(all, report)
    for (const [name, counts] of Object.entries(report.fields)) {
      fields.set(name, sumOfDrops(fields.get(name) ?? NO_DROPS, counts))
    }
  }
  return dropReportOf(all, fields)
}

export function sumOfDrops(a: DropCounts, b: DropCounts): DropCounts {
  return { badValues: a.badValues + b.badValues, overLimit: a.overLimit + b.overLimit }
}

function totalOf({ badValues, overLimit }: DropCounts): number {
  return badValues + overLimit
}
