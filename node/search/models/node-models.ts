// The models that this node has for queries.

import type { Clock } from '../../../lib/clock.ts'
import { runSliced, type Sliced } from '../../../lib/sliced.ts'
import { parseInParts } from '../../document/exact-json-parts.ts'
import { refuse } from '../../query/query-limits.ts'
import { RENDER_LIMITS_DEFAULT } from '../../template/render-budget.ts'
import { renderTemplate } from '../../template/render-template.ts'
import type { TemplateCache } from '../../template/template-cache.ts'
import { parseRerankerConfig } from '../../providers/config/parse-task-configs.ts'
import type { Providers } from '../../providers/providers.ts'
import type { RerankerConfig } from '../../query/request/reranker-request.ts'
import type { QueryEmbedder } from './query-embedder.ts'
import type { QueryModels, RenderedDocument } from './query-models.ts'

const DEFAULT_TEMPLATE = '{{encodeToon this.fields}}'

/** What the models of a node are built from. */
export interface NodeModelsParts {
  readonly clock: Clock
  readonly templates: TemplateCache
  /** Absent: the node asks no models elsewhere, and refuses what needs them. */
  readonly providers?: Pick<Providers, 'rerankers'>
  readonly embedder?: QueryEmbedder
}

/** Documents are rendered here; rerankers and embedders are asked where their configurations say. */
export function buildNodeModels({
  clock,
  templates,
  providers,
  embedder,
}: NodeModelsParts): QueryModels {
  return {
    ...(embedder && { embedQuery: (query, signal) => embedder.embed(query, signal) }),
    renderDocument: (document, signal) =>
      runSliced(rendered(document, templates), { clock, signal }),
    ...(providers && {
      rerank: ({ config, query, documents }, signal) =>
        providers.rerankers.use(parseRerankerConfig(plain(config), 'reranker'), (reranker) =>
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
  const fields = yield* parseInParts(json)
  const output = yield* renderTemplate(compiled, { _id: key, fields }, RENDER_LIMITS_DEFAULT)
  const texts = output.map((part) =>
    part.kind === 'text'
      ? part.text
      : refuse('reranker', 'reads texts; leave media out of the template'),
  )
  return texts.join('')
}
