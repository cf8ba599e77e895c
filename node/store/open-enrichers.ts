import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import type { Log } from '../../lib/log.ts'
import { isManaged, readEmbeddingsSettings } from '../embedding/settings.ts'
import { Enrichers } from '../enrichment/enrichers.ts'
import type { NodeModels } from './open-models.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'

/** What enrichers of a node are built from. */
export interface EnricherParts {
  readonly led: LedShards
  /** Undefined: the node asks no models, and managed indexes stay as they are. */
  readonly openEnrichment: NodeModels['openEnrichment']
  readonly randomBits: () => string
  readonly clock: Clock
  readonly log: Log
}

/** Random bits in a hexadecimal digit, and digits of which a number keeps all bits. */
const BITS_PER_DIGIT = 4
const DIGITS = 12

/** Starts the enrichers of the node. `life` closes them before what was opened earlier. */
export function openEnrichers(
  { openEnrichment, randomBits, ...parts }: EnricherParts,
  life: Lifecycle,
): Enrichers | undefined {
  if (openEnrichment === undefined) return undefined
  const enrichers = new Enrichers({
    ...parts,
    random: () => parseInt(randomBits().slice(0, DIGITS), 16) / 2 ** (DIGITS * BITS_PER_DIGIT),
    open: ({ id, name, settings: stored }) => {
      const settings = readEmbeddingsSettings(stored)
      assert(isManaged(settings), 'the store makes the vectors of an enriched index')
      return openEnrichment({ id, name, settings })
    },
  })
  life.onClose(() => enrichers[Symbol.asyncDispose]())
  return enrichers
}
