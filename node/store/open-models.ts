// The models of a node, built in order: providers, what queries ask them, what indexes are checked and made with.

import type { Clock } from '../../lib/clock.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import { isPublicAddress } from '../../lib/media/public-address.ts'
import { isManaged, type ManagedIndexSettings } from '../embedding/settings.ts'
import type { Enrichment } from '../enrichment/enrichment.ts'
import { openEnrichment, type ManagedIndex } from '../enrichment/open-enrichment.ts'
import { MEDIA_SETTINGS_DEFAULT } from '../media/media-settings.ts'
import { openMedia, type MediaSurroundings } from '../media/open-media.ts'
import type { ProviderSurroundings } from '../providers/access/provider-access.ts'
import { ModelPool } from '../providers/pool/model-pool.ts'
import { Providers } from '../providers/providers.ts'
import { TemplateCache } from '../template/template-cache.ts'
import { buildNodeModels } from '../search/models/node-models.ts'
import { QueryEmbedder } from '../search/models/query-embedder.ts'
import type { QueryModels } from '../search/models/query-models.ts'
import { completingIndexes, type CompleteIndex } from '../catalog/admin/managed-indexes.ts'
import { ModelKeys } from '../catalog/tables/model-keys.ts'
import type { TableRegistry } from '../catalog/tables/table-registry.ts'

/** Those of the indexes that were written lately stay open. */
const ENRICHMENTS_KEPT_MAX = 64

/** What a node asks models with. */
export interface ModelParts {
  readonly clock: Clock
  /** Absent: nobody is asked, and what needs a model is refused. */
  readonly surroundings: ProviderSurroundings | undefined
  /** Undefined: media are read from public hosts alone. */
  readonly media: MediaSurroundings | undefined
  readonly registry: TableRegistry
}

/** What a node does with models. */
export interface NodeModels {
  readonly queries: QueryModels
  readonly completeIndex: CompleteIndex
  readonly keys: ModelKeys
  /** For enrichers. Undefined: the node asks no models, so that managed indexes get nothing. */
  readonly openEnrichment: ((index: ManagedIndex) => Enrichment) | undefined
  /** For writes that wait for vectors. */
  readonly enrichments: ModelPool<ManagedIndex, Enrichment> | undefined
}

const PUBLIC_MEDIA: MediaSurroundings = { settings: MEDIA_SETTINGS_DEFAULT, environment: {} }

/** Opens all; `life` closes them. Nobody is asked anything yet. */
export function openModels(
  { clock, surroundings, media: around = PUBLIC_MEDIA, registry }: ModelParts,
  life: Lifecycle,
): NodeModels {
  const templates = new TemplateCache({ clock })
  if (surroundings === undefined) {
    return {
      queries: buildNodeModels({ clock, templates }),
      completeIndex: completingIndexes({ clock, templates, providers: undefined }),
      keys: new ModelKeys(undefined),
      openEnrichment: undefined,
      enrichments: undefined,
    }
  }
  const providers = new Providers({ ...surroundings, clock, isPublic: isPublicAddress })
  life.onClose(() => providers[Symbol.asyncDispose]())
  const media = openMedia({ ...around, clock })
  life.onClose(async () => media[Symbol.asyncDispose]())
  const shared = { clock, providers, templates, media }
  const settingsOf = (table: string, index: string): ManagedIndexSettings | undefined => {
    const settings = registry.find(table)?.embeddings.get(index)?.settings
    return settings !== undefined && isManaged(settings) ? settings : undefined
  }
  const embedder = new QueryEmbedder({ ...shared, settingsOf })
  life.onClose(() => embedder[Symbol.asyncDispose]())
  const open = (index: ManagedIndex): Enrichment => openEnrichment(index, shared)
  const enrichments = new ModelPool(open, ENRICHMENTS_KEPT_MAX)
  life.onClose(() => enrichments[Symbol.asyncDispose]())
  return {
    queries: buildNodeModels({ ...shared, embedder }),
    completeIndex: completingIndexes(shared),
    keys: new ModelKeys(providers.seal),
    openEnrichment: open,
    enrichments,
  }
}
