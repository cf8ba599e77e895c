import type { ItemOutcome } from '../model-runner.ts'
import { fleetRequest, requireModel, resultOf } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { costOfRewriteItem } from './rewrite-item.ts'
import type { RewriteResult } from './rewrite-item.ts'

export interface RewriteRequest extends RequestOptions {
  readonly model: string
  readonly inputs: readonly string[]
}

export interface RewriteAnswer {
  readonly model: string
  /** One for each input, in order. */
  readonly results: readonly RewriteResult[]
}

export class RewriteService {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  async rewrite(request: RewriteRequest): Promise<RewriteAnswer> {
    const { signal } = request
    signal.throwIfAborted()
    const spec = requireModel(this.#parts.catalog, 'rewriter', request.model)
    const asked = fleetRequest(this.#parts, request)
    const runs = request.inputs.map((text, index) => {
      const item = { text }
      // Each by itself: an answer takes many steps, and others shall have their turn between two.
      const sent = { item, cost: costOfRewriteItem(item), group: String(index) }
      return this.#parts.fleet.submit<ItemOutcome<RewriteResult>>(spec, sent, asked)
    })
    const aborted = Promise.withResolvers<never>()
    const onAbort = (): void => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const all = Promise.all(runs.map(({ promise }) => promise.then(resultOf)))
      return { model: spec.name, results: await Promise.race([all, aborted.promise]) }
    } finally {
      signal.removeEventListener('abort', onAbort)
      for (const run of runs) run.cancel()
    }
  }
}
