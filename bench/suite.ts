import type { Clock } from '../lib/clock.ts'
import type { RowResult } from './report/finding.ts'
import type { LoadGenerator } from './load/load-generator.ts'

/** The parts and options of a run, for every suite. */
export interface Bench {
  /** An empty folder for this run, deleted at its end. */
  readonly directory: string
  /** The folder for CPU profiles of our server; undefined: no profiles. */
  readonly profileDirectory: string | undefined
  readonly generator: LoadGenerator
  readonly clock: Clock
  readonly quick: boolean
  /** The numbers of clients for throughput. */
  readonly clients: readonly number[]
  /** The number of documents; undefined: each row's own number. */
  readonly documents: number | undefined
  /** The number of repetitions of each comparison. */
  readonly runs: number
  readonly seed: number
  /** Another checkout of this repository that replaces the peer. */
  readonly against: string | undefined
  /** Prints a message about the progress on standard error. */
  progress(message: string): void
}

/** The rows of a suite in their order. Disposal ends the processes that rows have left for later rows. */
export interface Suite extends AsyncDisposable {
  readonly rows: Readonly<Record<string, () => Promise<RowResult>>>
}

/** A suite as the command line lists it. */
export interface SuiteEntry {
  /** The packages whose versions are reported with the figures. */
  readonly packages: readonly string[]
  readonly rowNames: readonly string[]
  /** Whether the number of documents can be chosen. */
  readonly takesDocuments: boolean
  build(bench: Bench): Suite
}
