// The worker's side of a model. A runner turns the items of requests into results: it tokenizes, runs
// the graph, and reads its outputs.

import type { Clock } from '../../lib/clock.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { GraphSession } from '../runtime/graph-session.ts'
import type { TokenizerHandle } from '../text/tokenizer-handle.ts'

/**
 * One loaded model that answers each item by itself.
 *
 * Contract, checked for every implementation by test/conformance/model-runner.ts:
 * - `run` answers one outcome for each item, in order. The result of an item does not depend on the
 *   items beside it.
 * - An item that cannot be served (for example too long with `truncate: false`) gets a refusal as its
 *   outcome. The other items are served.
 * - After `signal` aborts, `run` stops before its next graph run and rejects.
 * - Items and results are plain data, because they cross a process boundary. `run` changes no item.
 * - `dispose` releases every session. It is called while nothing runs. A failed opening releases the
 *   sessions too.
 */
export interface ModelRunner<Item, Result> {
  run(items: readonly Item[], signal: AbortSignal): Promise<readonly ItemOutcome<Result>[]>
  dispose(): Promise<void>
}

/** The result of one item, or the refusal that its request receives as an error. */
export type ItemOutcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | {
      readonly kind: 'refused'
      readonly code: 'INVALID_ARGUMENT' | 'INFERENCE_FAILED'
      readonly message: string
    }

/**
 * One loaded model that answers with a stream of events.
 *
 * Contract, checked for every implementation by test/conformance/stream-runner.ts:
 * - `start` emits events in order and then resolves to the end of the stream.
 * - The event loop turns between two steps, so that streams and batches of one worker interleave.
 *   After `signal` aborts, `start` rejects before its next step.
 * - It rejects with INVALID_ARGUMENT, before the first event, for a request that the model cannot
 *   serve.
 * - The events of a stream do not depend on the streams beside it. Requests, events and ends are plain
 *   data. Sessions are released as by a ModelRunner.
 */
export interface StreamRunner<Request, Event, End> {
  start(request: Request, emit: (event: Event) => void, signal: AbortSignal): Promise<End>
  dispose(): Promise<void>
}

/** The parts that a runner is built from. The runner releases the sessions that it opens. */
export interface RunnerParts<Spec extends ModelSpec> {
  readonly spec: Spec
  readonly tokenizer: TokenizerHandle
  /** Measures the slices of long work. */
  readonly clock: Clock
  /** Opens a graph; `file` is relative to the model's directory. */
  openSession(file: string): Promise<GraphSession>
}
