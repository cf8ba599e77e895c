// A store as a test sees it, wherever it runs: one process, or the nodes of a cluster.

import type { StoreClient } from '../servers/store-client.ts'

/** What an end left behind: the exit codes of its processes, and the last lines of their logs. */
export interface PlaceEnding {
  readonly exitCodes: readonly (number | null)[]
  readonly log: string
}

/**
 * One store over data of its own.
 *
 * Contract:
 * - `api` is the URL of a node that runs; with several, each question names the next one, so that a test
 *   which asks each time spreads its requests over all of them.
 * - `stop` ends all in order. `start` begins again over the same data, and resolves when the whole store is there
 *   and up to date.
 * - `dispose` gives back what the test has used: its data is gone for the next one.
 */
export interface StoreUnderTest extends AsyncDisposable {
  readonly api: string
  /** The URLs of all nodes that run. */
  readonly apis: readonly string[]
  /** The health servers of all nodes that run. */
  readonly health: readonly string[]
  /** The data directories of all nodes. */
  readonly dataDirs: readonly string[]
  start(): Promise<void>
  stop(): Promise<PlaceEnding>
}

/**
 * A store in processes of its own.
 *
 * Contract, beside the above:
 * - `kill` ends all at once by SIGKILL, `stopAndKill` in the middle of an orderly end, and `startAndKill` in the middle
 *   of a start over the same data.
 * - `killSome` kills a node of a store that survives it, otherwise the whole. `start` then brings back what is missing.
 * - `connect` makes a client as the store asks for it. One that retries does so until `gone` aborts.
 */
export interface KillableStore extends StoreUnderTest {
  /** The last lines of the logs. */
  readonly log: string
  /** Whether there is a store after `killSome`. */
  readonly survives: boolean
  /** The wall clock leaps, hours ahead or back. Absent where clocks of several machines must agree. */
  leap?(): void
  connect(gone: AbortSignal): StoreClient
  kill(): Promise<void>
  killSome(): Promise<void>
  stopAndKill(afterMs: number): Promise<void>
  startAndKill(afterMs: number): Promise<void>
}

/** Where the stores of a test run. A suite is a function of it. */
export interface StorePlace<Store extends StoreUnderTest = StoreUnderTest> {
  /** As in "a store of three nodes". */
  readonly name: string
  open(): Promise<Store>
}
