// The messages between the server and its workers, over a process's channel or a thread's port.
//
// Invariants:
//   WP1  Every call gets exactly one answer or refusal, in any order, and no message after it.
//   WP2  `cancel` ends a running call at its next safe point. The call still gets its answer.

import type { SentError } from '../../lib/worker-calls.ts'

/**
 * The messages to a worker. A payload has any type here; the receiver names the type that it
 * expects.
 */
export type ToWorker<Payload = unknown> =
  /** Opens the model that `spec` describes. Later calls name it by the number `model`. */
  | { readonly kind: 'load'; readonly call: number; readonly model: number; readonly spec: Payload }
  | { readonly kind: 'unload'; readonly call: number; readonly model: number }
  | {
      readonly kind: 'run'
      readonly call: number
      readonly model: number
      readonly items: readonly Payload[]
    }
  /** Starts a stream: the worker sends events, then the answer. */
  | {
      readonly kind: 'start'
      readonly call: number
      readonly model: number
      readonly request: Payload
    }
  | { readonly kind: 'cancel'; readonly call: number }
  /** Cancels running calls, waits for them, releases every model, and ends the worker. */
  | { readonly kind: 'quit' }

/** The messages from a worker. */
export type FromWorker<Payload = unknown> =
  | { readonly kind: 'ready' }
  /** A sign of life: calls are under way, and none of them blocks the thread. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: Payload }
  | { readonly kind: 'event'; readonly call: number; readonly event: Payload }
  | { readonly kind: 'refusal'; readonly call: number; readonly error: SentError }

/** The settings of one worker. It gets them at its start, as JSON. */
export interface WorkerSettings {
  /** The threads of one graph run; 0: by the size of the model. */
  readonly threads: number
  readonly cores: number
  /** True: models in which the rows of one run change each other run them one by one. */
  readonly exactRows: boolean
  /** The period of the worker's signs of life while calls are under way. */
  readonly alivePeriodMs: number
}
