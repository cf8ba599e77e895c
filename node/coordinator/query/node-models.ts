// The models that this node has for queries.

import type { Clock } from '../../../lib/clock.ts'
import { runSliced, type Sliced } from '../../../lib/sliced.ts'
import { parseExactInSteps } from '../../document/exact-json.ts'
import { refuse } from '../../query/query-limits.ts'
import { RENDER_LIMITS_DEFAULT } from '../../template/render-budget.ts'
import { renderTemplate } from '../../template/render-template.ts'
import { TemplateCache } from '../../template/template-cache.ts'
import type { QueryModels, RenderedDocument } from './query-models.ts'

const DEFAULT_TEMPLATE = '{{encodeToon this.fields}}'

/** Documents are rendered here. Nothing embeds or reranks. */
export function buildNodeModels(clock: Clock): QueryModels {
  const templates = new TemplateCache({ clock })
  return {
    renderDocument: (document, signal) =>
      runSliced(rendered(document, templates), { clock, signal }),
  }
}

/** A template knows the document as `fields`, and its key as `_id`. */
function* rendered(
  { key, json, template = DEFAULT_TEMPLATE }: RenderedDocument,
  templates: TemplateCache,
): Sliced<string> {
  const compiled = yield* templates.get(template)
  const fields = yield* parseExactInSteps(json)
  const output = yield* renderTemplate(compiled, { _id: key, fields }, RENDER_LIMITS_DEFAULT)
  const texts = output.map((part) =>
    part.kind === 'text'
      ? part.text
      : refuse('reranker', 'reads texts; leave media out of the template'),
  )
  return texts.join('')
}
