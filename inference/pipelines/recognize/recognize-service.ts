import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { resultKey, resultKeys } from '../../batching/shared-results.ts'
import type { SharedResults } from '../../batching/shared-results.ts'
import type { RecognizerSpec } from '../../models/model-spec.ts'
import { buildSharedResults, fleetRequest, requireModel, startItem } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { checkWindowedText } from '../window-limits.ts'
import { costOfRecognizeItem } from './recognize-item.ts'
import type { RecognizeResult } from './recognize-item.ts'

/** Texts that are searched by one model for the same labels. */
export interface RecognizeRequest extends RequestOptions {
  readonly model: string
  readonly texts: readonly string[]
  /** The labels to find; empty: all labels of the model. */
  readonly labels: readonly string[]
  readonly relationLabels: readonly string[]
}

/** The findings of all texts. */
export interface RecognizeAnswer {
  readonly model: string
  /** One result for each text, in order. */
  readonly results: readonly RecognizeResult[]
  readonly hasRelations: boolean
}

/** The bytes of an entity without its text, and of a relation without its entities. */
const ENTITY_BYTES = 120

/**
 * Recognizes entities and relations. Unknown models reject with NOT_FOUND; too long texts, and
 * labels that the model cannot use, with INVALID_ARGUMENT.
 */
export class RecognizeService {
  readonly #parts: ServiceParts
  readonly #results: SharedResults<RecognizeResult>

  constructor(parts: ServiceParts) {
    this.#parts = parts
    this.#results = buildSharedResults(parts, 'recognize', bytesOfResult)
  }

  async recognize(request: RecognizeRequest): Promise<RecognizeAnswer> {
    const { texts, signal } = request
    const spec = requireModel(this.#parts.catalog, 'recognizer', request.model)
    checkCapabilities(spec, request)
    texts.forEach((text, index) => checkWindowedText(text, `texts[${index}]`))
    const labels = [...new Set(request.labels)]
    const relationLabels = [...new Set(request.relationLabels)]
    const asked = fleetRequest(this.#parts, request)
    // Items share a batch only if their labels are equal, because labels are part of the input.
    const group = await resultKey([spec.name, JSON.stringify([labels, relationLabels])])
    const found = await this.#results.getMany(
      await resultKeys(texts.map((text) => [group, text])),
      (index) => {
        const text = must(texts[index], 'a text for each key')
        const item = { text, labels, relationLabels }
        const sent = { item, cost: costOfRecognizeItem(item), group }
        return startItem<RecognizeResult>(this.#parts, spec, sent, asked)
      },
      signal,
    )
    const isExtractor = spec.model.type === 'rebel'
    return {
      model: spec.name,
      results: found.map(({ value }) => value),
      hasRelations: isExtractor || relationLabels.length > 0,
    }
  }
}

function checkCapabilities(
  { name, capabilities, model }: RecognizerSpec,
  { relationLabels }: RecognizeRequest,
): void {
  const takesRelationLabels = capabilities.includes('relations') && model.type !== 'rebel'
  if (relationLabels.length > 0 && !takesRelationLabels) {
    const message = `relation_labels: model ${name} cannot be told which relations to find`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
}

function bytesOfResult({ entities, relations }: RecognizeResult): number {
  const chars = entities.reduce((sum, { text, label }) => sum + text.length + label.length, 0)
  return 2 * chars + (entities.length + 3 * relations.length) * ENTITY_BYTES
}
