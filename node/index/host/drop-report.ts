// Which values of documents an index left out, and why. The documents themselves were indexed.

export type DropReason =
  /** The value does not have the type of its field. */
  | 'badValues'
  /** The value exceeds a limit: known fields, fields or values in a document, depth, or length. */
  | 'overLimit'

/** The limit of fields in a report: those that lost most values. */
const REPORTED_FIELDS_MAX = 20

export type DropCounts = Readonly<Record<DropReason, number>>

/** The counts of one index. A value counts again if its document is indexed again. */
export interface DropReport extends DropCounts {
  /** By the name of the field. */
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

/** Adds up the reports of several shards. */
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
