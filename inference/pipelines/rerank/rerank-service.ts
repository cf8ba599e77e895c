import { must } from '../../../lib/assert.ts'
import { ResultCache } from '../../batching/result-cache.ts'
import { SharedResults, resultKey } from '../../batching/shared-results.ts'
import type { StartedRun } from '../../batching/shared-results.ts'
import type { FleetRequest } from '../../models/model-fleet.ts'
import type { RerankerSpec } from '../../models/model-spec.ts'
import type { ItemOutcome } from '../model-runner.ts'
import { RESULT_TTL_MS, fleetRequest, requireModel, resultOf } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { costOfRerankItem } from './rerank-item.ts'
import type { RerankItem, RerankResult } from './rerank-item.ts'

export interface RerankRequest extends RequestOptions {
  readonly model: string
  readonly query: string
  readonly prompts: readonly string[]
}

export interface RerankAnswer {
  readonly model: string
  /** One for each prompt, in order. */
  readonly results: readonly RerankResult[]
}

/** What a result takes beside its key. */
const RESULT_BYTES = 16

export class RerankService {
  readonly #parts: ServiceParts
  readonly #results: SharedResults<RerankResult>

  constructor(parts: ServiceParts) {
    this.#parts = parts
    const cache = new ResultCache<RerankResult>({
      clock: parts.clock,
      ttlMs: RESULT_TTL_MS,
      bytesMax: parts.cacheBytesMax,
      bytesOf: () => RESULT_BYTES,
    })
    this.#results = new SharedResults(cache, (source) => parts.onSource('rerank', source))
  }

  async rerank(request: RerankRequest): Promise<RerankAnswer> {
    const { query, prompts, signal } = request
    const spec = requireModel(this.#parts.catalog, 'reranker', request.model)
    const asked = fleetRequest(this.#parts, request)
    const found = await this.#results.getMany(
      prompts.map((prompt) => resultKey([spec.name, query, prompt])),
      (index) => {
        const document = must(prompts[index], 'a prompt for each key')
        return this.#start(spec, { query, document }, asked)
      },
      signal,
    )
    return { model: spec.name, results: found.map(({ value }) => value) }
  }

  #start(spec: RerankerSpec, item: RerankItem, asked: FleetRequest): StartedRun<RerankResult> {
    const sent = { item, cost: Math.min(spec.maxTokens, costOfRerankItem(item)), group: 'pair' }
    const run = this.#parts.fleet.submit<ItemOutcome<RerankResult>>(spec, sent, asked)
    return { promise: run.promise.then(resultOf), cancel: run.cancel }
  }
}
