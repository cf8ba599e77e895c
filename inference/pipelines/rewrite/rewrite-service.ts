import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { relevantPrefix } from '../../text/leading-text.ts'
import { fleetRequest, requireModel, startItem } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { costOfRewriteItem } from './rewrite-item.ts'
import type { RewriteResult } from './rewrite-item.ts'

/** Texts to rewrite by one model. */
export interface RewriteRequest extends RequestOptions {
  readonly model: string
  readonly inputs: readonly string[]
}

/** The rewritten texts of all inputs. */
export interface RewriteAnswer {
  readonly model: string
  /** One result for each input, in order. */
  readonly results: readonly RewriteResult[]
}

/**
 * Rewrites texts by a sequence-to-sequence model. Unknown models reject with NOT_FOUND. Results are
 * not cached.
 */
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
      const item = { text: relevantPrefix(text, spec.maxTokens) }
      // Each input is a batch of its own: an answer takes many steps, and others need turns between.
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
