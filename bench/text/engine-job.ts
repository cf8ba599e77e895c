// What an engine's process can be asked to do, and what it answers. Sent between processes as JSON.

import type { TextAnswer } from '../peers/text-engine.ts'
import type { TextQuery } from '../data/query-classes.ts'

export interface Measurement {
  readonly queries: readonly TextQuery[]
  /** Undefined: all of the queries run. */
  readonly bounds: MeasurementBounds | undefined
}

/** The queries run in turn until the time is used up, but at least so many of them. */
export interface MeasurementBounds {
  readonly budgetMs: number
  readonly queriesMin: number
}

export type EngineJob =
  | ({ readonly kind: 'measure' } & Measurement)
  | { readonly kind: 'answer'; readonly queries: readonly TextQuery[] }

export type EngineAnswer =
  | { readonly kind: 'ready'; readonly loadMs: number }
  /** One for each query that ran, in the order of the queries. */
  | { readonly kind: 'latencies'; readonly latenciesMs: readonly number[] }
  | { readonly kind: 'answers'; readonly answers: readonly TextAnswer[] }
  | { readonly kind: 'failure'; readonly message: string }
