import { must } from '../../../lib/assert.ts'
import { resultKey, resultKeys } from '../../batching/shared-results.ts'
import type { SharedResults, StartedRun } from '../../batching/shared-results.ts'
import type { FleetRequest } from '../../fleet/model-fleet.ts'
import type { RerankerSpec } from '../../models/model-spec.ts'
import { buildSharedResults, fleetRequest, requireModel, startItem } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { relevantPrefix } from '../../text/leading-text.ts'
import { costOfRerankItem } from './rerank-item.ts'
import type { RerankItem, RerankResult } from './rerank-item.ts'

/** Documents (`prompts` in the API) to score against one query. */
export interface RerankRequest extends RequestOptions {
  readonly model: string
  readonly query: string
  readonly prompts: readonly string[]
}

/** The scores of all prompts. */
export interface RerankAnswer {
  readonly model: string
  /** One result for each prompt, in order. */
  readonly results: readonly RerankResult[]
}

/** The bytes of a result without its key. */
const RESULT_BYTES = 16

/** Scores documents against a query by a cross-encoder. Unknown models reject with NOT_FOUND. */
export class RerankService {
  readonly #parts: ServiceParts
  readonly #results: SharedResults<RerankResult>

  constructor(parts: ServiceParts) {
    this.#parts = parts
    this.#results = buildSharedResults(parts, 'rerank', () => RESULT_BYTES)
  }

  async rerank(request: RerankRequest): Promise<RerankAnswer> {
    const { signal } = request
    const spec = requireModel(this.#parts.catalog, 'reranker', request.model)
    // Every prompt carries the query to a worker, so the unread end of a long query is cut first.
    const query = relevantPrefix(request.query, spec.maxTokens)
    const prompts = request.prompts.map((prompt) => relevantPrefix(prompt, spec.maxTokens))
    const queryKey = await resultKey([spec.name, query])
    const asked = fleetRequest(this.#parts, request)
    const found = await this.#results.getMany(
      await resultKeys(prompts.map((prompt) => [queryKey, prompt])),
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
    return startItem(this.#parts, spec, sent, asked)
  }
}
