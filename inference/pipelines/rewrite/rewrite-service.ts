import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { lookedAt } from '../../text/leading-text.ts'
import { fleetRequest, requireModel, startItem } from '../model-requests.ts'
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
      const item = { text: lookedAt(text, spec.maxTokens) }
      // Each by itself: an answer takes many steps, and others shall have their turn between two.
      const sent = { item, cost: costOfRewriteItem(item), group: String(index) }
      return startItem<RewriteResult>(this.#parts, spec, sent, asked)
    })
    try {
      const all = Promise.all(runs.map(({ promise }) => promise))
      return { model: spec.name, results: await unlessAborted(all, signal) }
    } finally {
      for (const run of runs) run.cancel()
    }
  }
}
