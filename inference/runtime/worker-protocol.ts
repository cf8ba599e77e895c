// What the server and its workers say to each other, over a process's channel or a thread's port.
//
// Invariants:
//   WP1  Every call gets exactly one answer or refusal, in any order; after that, nothing.
//   WP2  `cancel` makes a running call end at its next safe point; its answer still comes.

import type { SentError } from '../../lib/worker-calls.ts'

/** What is carried is anything where it is sent, and of the type its receiver names where it is read. */
export type ToWorker<Payload = unknown> =
  /** Opens the model that `spec` describes; it is called `model` from then on. */
  | { readonly kind: 'load'; readonly call: number; readonly model: number; readonly spec: Payload }
  | { readonly kind: 'unload'; readonly call: number; readonly model: number }
  | {
      readonly kind: 'run'
      readonly call: number
      readonly model: number
      readonly items: readonly Payload[]
    }
  /** A stream: events, then the answer. */
  | {
      readonly kind: 'start'
      readonly call: number
      readonly model: number
      readonly request: Payload
    }
  | { readonly kind: 'cancel'; readonly call: number }
  /** Lets running calls end, releases every model, and ends. */
  | { readonly kind: 'quit' }

export type FromWorker<Payload = unknown> =
  | { readonly kind: 'ready' }
  /** Calls are under way, and none of them holds up the thread. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: Payload }
  | { readonly kind: 'event'; readonly call: number; readonly event: Payload }
  | { readonly kind: 'refusal'; readonly call: number; readonly error: SentError }

/** What every worker is told when it starts, as JSON. */
export interface WorkerSettings {
  /** Of one graph run; 0: as the model is. */
  readonly threads: number
  readonly cores: number
  /** Models in which rows that run together change each other run them one by one. */
  readonly exactRows: boolean
  /** How often it says that it is alive while calls are under way. */
  readonly alivePeriodMs: number
}
