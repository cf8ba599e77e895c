// The keys of models that stand in the configurations of indexes: sealed before they are kept, sealed anew when the
// node has another first secret, and named when no secret opens them.

import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import { isManaged, type ManagedIndexSettings } from '../../embedding/settings.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { embeddingsOf } from '../../index/kinds/index-kinds.ts'
import type { KeySeal, SealedUnder } from '../../providers/access/key-seal.ts'
import { parseReferences, sealedText } from '../../providers/config/references.ts'
import type { OpenTable } from './open-table.ts'

/** How a key is kept: under which secret it is sealed, or as it was written, as earlier versions did. */
export type KeptKey = SealedUnder | 'plain'

/** The indexes whose configurations have a key that is kept in this way, one name for each key. */
export type IndexesByKey = Readonly<Record<KeptKey, readonly string[]>>

interface Known {
  readonly generation: number
  readonly indexes: IndexesByKey
}

/**
 * What a node does with the keys of models in the catalog.
 *
 * - `sealed` answers the indexes of a record as they are to be kept: keys under the first secret. A key that cannot be
 *   sealed stays as it is: one that no secret opens, one beside references, one that is too long. Without a seal all do.
 * - `of` is cheap for indexes that it has seen, until the secrets are replaced: it remembers them by the array.
 */
export class ModelKeys {
  readonly #seal: KeySeal | undefined
  readonly #known = new WeakMap<readonly IndexDefinition[], Known>()
  #generation = 0

  /** Undefined: the node asks no models, and has no secret for their keys. */
  constructor(seal: KeySeal | undefined) {
    this.#seal = seal
    seal?.onReplaced(() => {
      this.#generation += 1
    })
  }

  /** The listener hears of other secrets when `of` knows them. */
  onReplaced(listener: () => void): void {
    this.#seal?.onReplaced(listener)
  }

  of(indexes: readonly IndexDefinition[]): IndexesByKey {
    const known = this.#known.get(indexes)
    if (known?.generation === this.#generation) return known.indexes
    const found = indexesByKey(indexes, this.#seal)
    this.#known.set(indexes, { generation: this.#generation, indexes: found })
    return found
  }

  sealed(indexes: readonly IndexDefinition[]): readonly IndexDefinition[] {
    const seal = this.#seal
    if (seal === undefined) return indexes
    return indexes.map((index) => sealedIndex(index, seal))
  }

  /** The same keys under other secrets. */
  with(secrets: readonly Uint8Array[]): ModelKeys {
    return new ModelKeys(this.#seal?.with(secrets))
  }
}

export function* countKeysSliced(
  tables: readonly OpenTable[],
  keys: ModelKeys,
): Sliced<Readonly<Record<KeptKey, number>>> {
  const counts = { first: 0, accepted: 0, none: 0, plain: 0 }
  for (const { record } of tables) {
    addKeys(counts, keys.of(record.indexes))
    yield
  }
  return counts
}

export function addKeys(counts: Record<KeptKey, number>, indexes: IndexesByKey): void {
  counts.first += indexes.first.length
  counts.accepted += indexes.accepted.length
  counts.none += indexes.none.length
  counts.plain += indexes.plain.length
}

function indexesByKey(
  indexes: readonly IndexDefinition[],
  seal: KeySeal | undefined,
): IndexesByKey {
  const found: Record<KeptKey, string[]> = { first: [], accepted: [], none: [], plain: [] }
  for (const index of indexes) {
    const settings = managedSettingsOf(index)
    if (settings === undefined) continue
    for (const kept of keysOf(settings, seal)) found[kept].push(index.name)
  }
  return found
}

function sealedIndex(index: IndexDefinition, seal: KeySeal): IndexDefinition {
  const settings = managedSettingsOf(index)
  if (settings === undefined) return index
  const kept = keysOf(settings, seal)
  if (kept.every((one) => one === 'first' || one === 'none')) return index
  const models = modelsWith(settings, (config) => {
    try {
      return withSealedKey(config, seal)
    } catch (error) {
      if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return config
      throw error
    }
  })
  return { ...index, settings: { ...settings, ...models } }
}

function managedSettingsOf(index: IndexDefinition): ManagedIndexSettings | undefined {
  const settings = embeddingsOf(index)
  return settings !== undefined && isManaged(settings) ? settings : undefined
}

type Models = Pick<ManagedIndexSettings, 'embedder' | 'summarizer' | 'chunker'>
type ModelConfig = ManagedIndexSettings['embedder']

function keysOf(
  { embedder, summarizer, chunker }: Models,
  seal: KeySeal | undefined,
): readonly KeptKey[] {
  return [embedder, summarizer, chunker?.config].flatMap((config) => keptKeyOf(config, seal) ?? [])
}

/** Undefined without a key of its own: a reference to a variable or secret is not a key. */
function keptKeyOf(
  config: ModelConfig | undefined,
  seal: KeySeal | undefined,
): KeptKey | undefined {
  const key = config?.['api_key']
  if (typeof key !== 'string') return undefined
  const pieces = parseReferences(key, 'api_key')
  if (pieces.some(({ kind }) => kind === 'literal')) return 'plain'
  for (const piece of pieces) {
    if (piece.kind === 'sealed') return seal?.sealedUnder(piece.sealed) ?? 'none'
  }
  return undefined
}

/**
 * Keys are kept sealed under the first secret: a configuration lies in the catalog and in backups. Throws INVALID_ARGUMENT
 * for a plain key that cannot be sealed.
 */
export function sealedModels(models: Models, seal: KeySeal | undefined): Models {
  return seal === undefined ? models : modelsWith(models, (config) => withSealedKey(config, seal))
}

function modelsWith(
  { embedder, summarizer, chunker }: Models,
  change: (config: ModelConfig) => ModelConfig,
): Models {
  return {
    embedder: change(embedder),
    ...(summarizer && { summarizer: change(summarizer) }),
    ...(chunker && { chunker: { ...chunker, config: change(chunker.config) } }),
  }
}

function withSealedKey(config: ModelConfig, seal: KeySeal): ModelConfig {
  const { api_key: key } = config
  if (typeof key !== 'string') return config
  const pieces = parseReferences(key, 'api_key')
  const [first] = pieces
  if (pieces.length === 1 && first?.kind === 'sealed') {
    const renewed = seal.renew(first.sealed)
    return renewed === undefined ? config : { ...config, api_key: sealedText(renewed) }
  }
  if (pieces.every(({ kind }) => kind !== 'literal')) return config
  if (pieces.length > 1) {
    const message = 'api_key: write the key, or references to it, but not both'
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  return { ...config, api_key: sealedText(seal.seal(key)) }
}
