// The worker's side of a model: from the items of requests to their results. Tokenizing, the graph
// and what is made of its outputs happen here, in the worker.

import type { Clock } from '../../lib/clock.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { GraphSession } from '../runtime/graph-session.ts'
import type { TokenizerHandle } from '../text/tokenizer-handle.ts'

/**
 * One loaded model that answers item for item.
 *
 * Contract, checked for every implementation by test/conformance/model-runner.ts:
 * - `run` answers one outcome for each item, in order. What an item's result is does not depend on
 *   the items beside it.
 * - An item that cannot be served (too long with `truncate: false`) gets a refusal as its outcome;
 *   the others are served.
 * - `run` stops between two graph runs once `signal` is aborted, and then rejects.
 * - Items and results are plain data: they cross a process boundary. Items stay as they are.
 * - `dispose` releases every session; nothing is running then. Opening that fails releases them too.
 */
export interface ModelRunner<Item, Result> {
  run(items: readonly Item[], signal: AbortSignal): Promise<readonly ItemOutcome<Result>[]>
  dispose(): Promise<void>
}

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
 * - `start` resolves with what ends the stream; events are emitted before that, in order.
 * - Between two steps it lets the event loop turn, so that streams and batches of one worker
 *   interleave; once `signal` is aborted it rejects before the next step.
 * - A request that the model cannot serve rejects with INVALID_ARGUMENT before the first event.
 * - What a stream tells does not depend on the streams beside it. Requests, events and ends are plain
 *   data; sessions are released as by a ModelRunner.
 */
export interface StreamRunner<Request, Event, End> {
  start(request: Request, emit: (event: Event) => void, signal: AbortSignal): Promise<End>
  dispose(): Promise<void>
}

/** What a runner is built from. The sessions it opens are the runner's to release. */
export interface RunnerParts<Spec extends ModelSpec> {
  readonly spec: Spec
  readonly tokenizer: TokenizerHandle
  /** Says when work that is long lets others have their turn. */
  readonly clock: Clock
  /** `file` is relative to the model's directory. */
  openSession(file: string): Promise<GraphSession>
}
