// The common part of the services of all tasks: finding a model, and submitting items to the fleet.

import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { ResultCache } from '../batching/result-cache.ts'
import { SharedResults } from '../batching/shared-results.ts'
import type { ResultSource, StartedRun } from '../batching/shared-results.ts'
import type { ModelCatalog } from '../models/model-catalog.ts'
import type { FleetItem, FleetRequest, ModelFleet } from '../fleet/model-fleet.ts'
import { FOLDER_BY_KIND } from '../models/model-spec.ts'
import type { ModelKind, ModelSpec, SpecOf } from '../models/model-spec.ts'
import type { ItemOutcome } from './model-runner.ts'

/** The parts that every service is built from. */
export interface ServiceParts {
  readonly catalog: ModelCatalog
  readonly fleet: ModelFleet
  readonly clock: Clock
  readonly cacheBytesMax: number
  /** Called for each item with the source of its result. */
  readonly onSource: (task: string, source: ResultSource) => void
  /** Called after a run with the tokens that a model has read and written. */
  readonly onTokens: (model: string, counts: TokenCounts) => void
  /** A new number for each request. */
  readonly nextRequestId: () => number
}

/** The tokens that a model has read (input) and written (output). */
export interface TokenCounts {
  readonly input: number
  readonly output: number
}

const RESULT_TTL_MS = 120_000

/**
 * The options that every request has. `keepAliveMs` is the time that an idle model stays loaded;
 * undefined: the server's default.
 */
export interface RequestOptions {
  readonly keepAliveMs?: number | undefined
  readonly signal: AbortSignal
}

const pull = (): string => `get one with "${ownCommand('models pull')}", and start the server again`

const NAMES_SHOWN_MAX = 20

/** Some names of a list, and how many more it has. */
export function shownNames(names: readonly string[]): string {
  const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : ''
  return `${names.slice(0, NAMES_SHOWN_MAX).join(', ')}${more}`
}

/** With the article of each kind. */
const ONE_OF: Readonly<Record<ModelKind, string>> = {
  embedder: 'an embedder',
  chunker: 'a chunker',
  reranker: 'a reranker',
  generator: 'a generator',
  recognizer: 'a recognizer',
  rewriter: 'a rewriter',
}

/** The model of a name. Throws NOT_FOUND for an unknown name, and for that of another kind: a retry would not help. */
export function requireModel<Kind extends ModelKind>(
  catalog: ModelCatalog,
  kind: Kind,
  name: string,
): SpecOf<Kind> {
  const spec = catalog.find(kind, name)
  if (spec !== undefined) return spec
  throw notOfKind(catalog, kind, name)
}

/** The error for a name that no model of a kind has: what the model is instead, and which models there are. */
export function notOfKind(catalog: ModelCatalog, kind: ModelKind, name: string): ServiceError {
  const names = catalog.namesOf(kind)
  const other = catalog.kindOf(name)
  const folder = `MODELS_DIR/${FOLDER_BY_KIND[kind]}`
  const there =
    names.length === 0
      ? `there is no ${kind} here; ${pull()}, or add its folder to ${folder}`
      : `the ${FOLDER_BY_KIND[kind]} here are ${shownNames(names)}`
  if (other !== undefined) {
    return modelNotFound(name, `it is ${ONE_OF[other]}, and this needs ${ONE_OF[kind]}; ${there}`)
  }
  return modelNotFound(name, names.length === 0 ? there : `${there}; ${pull()}`)
}

/** The error for an unknown model name. `remedy` tells the client what to do. */
export function modelNotFound(name: string, remedy: string): ServiceError {
  const shown = JSON.stringify(name.slice(0, SHOWN_NAME_LENGTH_MAX))
  return new ServiceError('NOT_FOUND', `model not found: ${shown}; ${remedy}`)
}

const SHOWN_NAME_LENGTH_MAX = 200

/** The request as the fleet takes it, with a number of its own. */
export function fleetRequest(
  { nextRequestId }: ServiceParts,
  { keepAliveMs }: RequestOptions,
): FleetRequest {
  return keepAliveMs === undefined ? { id: nextRequestId() } : { id: nextRequestId(), keepAliveMs }
}

/**
 * Submits one item to the fleet, which runs it within some batch. A refusal rejects with its error.
 */
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

/** The shared results of one task. `bytesOf` returns the bytes that a result takes in the cache. */
export function buildSharedResults<Result>(
  { clock, cacheBytesMax: bytesMax, onSource }: ServiceParts,
  task: string,
  bytesOf: (result: Result) => number,
): SharedResults<Result> {
  const cache = new ResultCache<Result>({ clock, ttlMs: RESULT_TTL_MS, bytesMax, bytesOf })
  return new SharedResults(cache, (source) => onSource(task, source))
}
