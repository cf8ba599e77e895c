// What has to be asked before an index exists whose vectors the store makes: whether its template compiles, whether
// its models can be meant, and how many numbers its embedder answers.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { runSliced } from '../../../lib/sliced.ts'
import type { ChunkerSettings } from '../../embedding/managed-settings.ts'
import {
  isDimension,
  type ManagedIndexSettings,
  type RequestedManaged,
} from '../../embedding/settings.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { requestedManagedOf } from '../../index/kinds/index-kinds.ts'
import { parseEmbedderConfig } from '../../providers/config/parse-embedder-config.ts'
import {
  parseChunkerConfig,
  parseGeneratorConfig,
} from '../../providers/config/parse-task-configs.ts'
import { isSealed, parseReferences } from '../../providers/config/references.ts'
import { isProviderError } from '../../providers/contract/provider-error.ts'
import { probeDimension } from '../../providers/embedding/probe-dimension.ts'
import type { Providers } from '../../providers/providers.ts'
import type { TemplateCache } from '../../template/template-cache.ts'
import { sealedModels } from '../tables/model-keys.ts'

/** Answers the definition as it is kept. Rejects with what is wrong with it, naming the index. */
export type CompleteIndex = (
  index: IndexDefinition,
  signal: AbortSignal,
) => Promise<IndexDefinition>

/** What managed indexes are checked with. */
export interface ManagedIndexParts {
  readonly clock: Clock
  /** Undefined: the node asks no models, so there can be no such index. */
  readonly providers: Pick<Providers, 'embedders' | 'seal'> | undefined
  readonly templates: TemplateCache
}

/** With a dimension the embedder is asked only to contradict it, so nobody waits long for one that is away. */
const CONTRADICTION_MS = 5_000

/** Completes the definitions of managed indexes; others are complete. */
export function completingIndexes(parts: ManagedIndexParts): CompleteIndex {
  return async (index, signal) => {
    const asked = requestedManagedOf(index)
    if (asked === undefined) return index
    try {
      return { ...index, settings: await completed(asked, parts, signal) }
    } catch (error) {
      throw isServiceError(error) ? named(error, index.name) : error
    }
  }
}

async function completed(
  asked: RequestedManaged,
  { clock, providers, templates }: ManagedIndexParts,
  signal: AbortSignal,
): Promise<ManagedIndexSettings> {
  if (providers === undefined) {
    throw new ServiceError('INVALID_ARGUMENT', 'this node asks no models; set external to true')
  }
  const { source, summarizer, chunker } = asked
  refuseSealed(asked.embedder, 'embedder')
  if (summarizer !== undefined) refuseSealed(summarizer, 'summarizer')
  if (chunker !== undefined) refuseSealed(chunker.config, 'chunker')
  if (source.kind === 'template') {
    await runSliced(templates.get(source.template), { clock, signal })
  }
  const config = parseEmbedderConfig(asked.embedder, 'embedder')
  const models = {
    embedder: { ...asked.embedder, model: config.model },
    ...(summarizer === undefined ? {} : { summarizer: withModel(summarizer) }),
    ...(chunker === undefined ? {} : { chunker: withChunkerModel(chunker) }),
  }
  const embedder = providers.embedders.borrow(config)
  try {
    const found = await askDimension()
    const dimension = found ?? asked.dimension
    if (!isDimension(dimension)) {
      const problem = `${embedder.name}: it answers vectors of ${found} numbers, and there is no such index`
      throw new ServiceError('INVALID_ARGUMENT', problem)
    }
    if (asked.dimension !== undefined && asked.dimension !== dimension) {
      const problem = `dimension is ${asked.dimension}, and ${embedder.name} answers vectors of ${dimension} numbers`
      throw new ServiceError('INVALID_ARGUMENT', `${problem}; leave dimension out`)
    }
    return { ...asked, ...sealedModels(models, providers.seal), dimension }
  } finally {
    await embedder.close()
  }

  /** Undefined: the embedder is away, and the client has said the dimension. */
  async function askDimension(): Promise<number | undefined> {
    if (asked.dimension === undefined) return probeDimension(embedder, { signal, clock })
    try {
      return await probeDimension(embedder, { signal, clock, timeoutMs: CONTRADICTION_MS })
    } catch (error) {
      signal.throwIfAborted()
      if (isProviderError(error) && error.failure.kind !== 'refused') return undefined
      throw error
    }
  }
}

/** The name of the model is kept even if it is the default, which may become another one in a later release. */
function withModel(config: ManagedIndexSettings['embedder']): ManagedIndexSettings['embedder'] {
  return { ...config, model: parseGeneratorConfig(config, 'summarizer').model }
}

function withChunkerModel(chunker: ChunkerSettings): ChunkerSettings {
  const { model } = parseChunkerConfig(chunker.config, 'chunker')
  return { ...chunker, config: { ...chunker.config, model } }
}

/** What only the store writes. */
function refuseSealed(config: ManagedIndexSettings['embedder'], where: string): void {
  const { api_key: key } = config
  if (typeof key !== 'string' || !isSealed(parseReferences(key, `${where}.api_key`))) return
  const message = `${where}.api_key: a reference is \${VARIABLE} or \${secret:name}`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

/** Messages of providers show no secrets. */
function named(error: ServiceError, index: string): ServiceError {
  return new ServiceError(error.code, `index "${index}": ${error.message}`)
}
