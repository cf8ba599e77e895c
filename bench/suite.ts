import type { Clock } from '../lib/clock.ts'
import type { RowResult } from './report/finding.ts'
import type { LoadGenerator } from './load/load-generator.ts'

/** What every suite is given. */
export interface Bench {
  /** An empty folder of this run alone, deleted at its end. */
  readonly directory: string
  /** Where our server leaves CPU profiles; undefined for none. */
  readonly profileDirectory: string | undefined
  readonly generator: LoadGenerator
  readonly clock: Clock
  readonly quick: boolean
  /** Numbers of clients to measure throughput with. */
  readonly clients: readonly number[]
  /** How many documents instead of what a row uses by itself. */
  readonly documents: number | undefined
  /** How often each comparison is repeated. */
  readonly runs: number
  readonly seed: number
  /** Another checkout of this repository, in the place of the peer. */
  readonly against: string | undefined
  /** Says on standard error what is being done. */
  progress(message: string): void
}

/** Rows run in the order of their listing. Disposal ends what rows have left for later rows. */
export interface Suite extends AsyncDisposable {
  readonly rows: Readonly<Record<string, () => Promise<RowResult>>>
}

export interface SuiteEntry {
  /** Packages whose versions belong to the figures. */
  readonly packages: readonly string[]
  readonly rowNames: readonly string[]
  /** Whether the number of documents can be chosen. */
  readonly takesDocuments: boolean
  build(bench: Bench): Suite
}
