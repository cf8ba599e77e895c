// The models that this node has for queries.

import type { Clock } from '../../../lib/clock.ts'
import { runSliced, type Sliced } from '../../../lib/sliced.ts'
import { parseExactInSteps } from '../../document/exact-json.ts'
import { refuse } from '../../query/query-limits.ts'
import { RENDER_LIMITS_DEFAULT } from '../../template/render-budget.ts'
import { renderTemplate } from '../../template/render-template.ts'
import { TemplateCache } from '../../template/template-cache.ts'
import { parseRerankerConfig } from '../../providers/config/parse-task-configs.ts'
import type { RerankerConfig } from '../../query/request/reranker-request.ts'
import type { OpenedRerankers } from './opened-rerankers.ts'
import type { QueryModels, RenderedDocument } from './query-models.ts'

const DEFAULT_TEMPLATE = '{{encodeToon this.fields}}'

/** What the models of a node are built from. */
export interface NodeModelsParts {
  readonly clock: Clock
  /** Undefined: the node asks no models elsewhere, and refuses rerankers. */
  readonly rerankers: OpenedRerankers | undefined
}

/** Documents are rendered here, and rerankers are asked where their configurations say. Nothing embeds. */
export function buildNodeModels({ clock, rerankers }: NodeModelsParts): QueryModels {
  const templates = new TemplateCache({ clock })
  return {
    renderDocument: (document, signal) =>
      runSliced(rendered(document, templates), { clock, signal }),
    ...(rerankers && {
      rerank: ({ config, query, documents }, signal) =>
        rerankers.use(parseRerankerConfig(plain(config), 'reranker'), (reranker) =>
          reranker.rerank(query, documents, { signal }),
        ),
    }),
  }
}

/** Numbers as JavaScript has them: those of a request keep their digits. */
function plain(config: RerankerConfig): unknown {
  return JSON.parse(JSON.stringify(config))
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
