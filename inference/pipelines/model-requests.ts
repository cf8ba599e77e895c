// What the services of all tasks have in common: who is asked for, and how the fleet is asked.

import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { ResultCache } from '../batching/result-cache.ts'
import { SharedResults } from '../batching/shared-results.ts'
import type { ResultSource, StartedRun } from '../batching/shared-results.ts'
import type { ModelCatalog } from '../models/model-catalog.ts'
import type { FleetItem, FleetRequest, ModelFleet } from '../fleet/model-fleet.ts'
import { FOLDER_BY_KIND } from '../models/model-spec.ts'
import type { ModelKind, ModelSpec, SpecOf } from '../models/model-spec.ts'
import type { ItemOutcome } from './model-runner.ts'

/** What every service is built from. */
export interface ServiceParts {
  readonly catalog: ModelCatalog
  readonly fleet: ModelFleet
  readonly clock: Clock
  readonly cacheBytesMax: number
  /** Hears where each item's result came from. */
  readonly onSource: (task: string, source: ResultSource) => void
  /** Hears how many tokens a model has read and written, once they are. */
  readonly onTokens: (model: string, counts: TokenCounts) => void
  /** A number for each request that no other has. */
  readonly nextRequestId: () => number
}

export interface TokenCounts {
  readonly input: number
  readonly output: number
}

const RESULT_TTL_MS = 120_000

/** What a client may say about any request. */
export interface RequestOptions {
  readonly keepAliveMs?: number | undefined
  readonly signal: AbortSignal
}

/** Refuses an unknown name with NOT_FOUND: to come back later would not help. */
export function requireModel<Kind extends ModelKind>(
  catalog: ModelCatalog,
  kind: Kind,
  name: string,
): SpecOf<Kind> {
  const spec = catalog.find(kind, name)
  if (spec !== undefined) return spec
  if (catalog.ofKind(kind).length === 0) {
    throw modelNotFound(name, `there are none; add one to MODELS_DIR/${FOLDER_BY_KIND[kind]}`)
  }
  throw modelNotFound(name, 'GET /api/models lists what there is')
}

export function modelNotFound(name: string, remedy: string): ServiceError {
  const shown = JSON.stringify(name.slice(0, SHOWN_NAME_LENGTH_MAX))
  return new ServiceError('NOT_FOUND', `model not found: ${shown}; ${remedy}`)
}

const SHOWN_NAME_LENGTH_MAX = 200

export function fleetRequest(
  { nextRequestId }: ServiceParts,
  { keepAliveMs }: RequestOptions,
): FleetRequest {
  return keepAliveMs === undefined ? { id: nextRequestId() } : { id: nextRequestId(), keepAliveMs }
}

/** One item's run in some batch of its model; a refusal rejects as the error it stands for. */
export function startItem<Result>(
  { fleet }: ServiceParts,
  spec: ModelSpec,
  sent: FleetItem,
  asked: FleetRequest,
): StartedRun<Result> {
  const { promise, cancel } = fleet.submit<ItemOutcome<Result>>(spec, sent, asked)
  return { promise: promise.then(resultOf), cancel }
}

function resultOf<Result>(outcome: ItemOutcome<Result>): Result {
  if (outcome.kind === 'done') return outcome.result
  throw new ServiceError(outcome.code, outcome.message)
}

/** The results of one task: `bytesOf` says what of the cache's room each takes. */
export function buildSharedResults<Result>(
  { clock, cacheBytesMax: bytesMax, onSource }: ServiceParts,
  task: string,
  bytesOf: (result: Result) => number,
): SharedResults<Result> {
  const cache = new ResultCache<Result>({ clock, ttlMs: RESULT_TTL_MS, bytesMax, bytesOf })
  return new SharedResults(cache, (source) => onSource(task, source))
}
