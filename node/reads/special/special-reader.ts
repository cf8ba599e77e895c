// What indexes keep of documents, for answers that ask for it.

import type { Clock } from '../../../lib/clock.ts'
import { runInTurn } from '../../../lib/sliced.ts'
import { must } from '../../../lib/assert.ts'
import type { Projection } from '../../document/projection.ts'
import type { EmbeddingsIndex } from '../../embedding/written-embeddings.ts'
import type { FoundArtifacts, Shard } from '../../shard/shard.ts'
import { specialText } from './special-text.ts'

/** Documents that are asked for at once: their members are in memory together. */
export const SPECIAL_KEYS_MAX = 16

/** The table whose documents are asked for. */
export interface SpecialTable {
  readonly embeddings: ReadonlyMap<string, EmbeddingsIndex>
  shardOf(key: Buffer): Pick<Shard, 'artifacts'>
}

/** Where the special members come from, and which of them an answer has. */
export interface SpecialReaderOptions {
  readonly clock: Clock
  readonly table: SpecialTable
  readonly projection: Projection
  readonly signal: AbortSignal | undefined
}

/** Reads the special members of documents. */
export class SpecialReader {
  readonly #with: SpecialReaderOptions
  readonly #names: readonly string[]
  readonly #ids: readonly string[]

  constructor(options: SpecialReaderOptions) {
    this.#with = options
    const asked = [...options.table.embeddings].filter(([name]) =>
      isAsked(name, options.projection),
    )
    this.#names = asked.map(([name]) => name)
    this.#ids = asked.map(([, { id }]) => id)
  }

  /** For each key a JSON object, in the order of at most SPECIAL_KEYS_MAX keys. */
  async read(keys: readonly Buffer[]): Promise<readonly string[]> {
    if (this.#ids.length === 0) return keys.map(() => '{}')
    const texts: string[] = []
    while (texts.length < keys.length) {
      const first = must(keys[texts.length], 'a key that is left')
      const shard = this.#with.table.shardOf(first)
      for (const found of await this.#ask(shard, keys.slice(texts.length))) {
        texts.push(await this.#textOf(found))
      }
    }
    return texts
  }

  /** Keys that follow each other in one shard are asked for at once. */
  #ask(
    shard: Pick<Shard, 'artifacts'>,
    keys: readonly Buffer[],
  ): Promise<readonly FoundArtifacts[]> {
    const { table, signal } = this.#with
    const other = keys.findIndex((key) => table.shardOf(key) !== shard)
    const together = other === -1 ? keys : keys.slice(0, other)
    return shard.artifacts({ keys: together, indexes: this.#ids }, { signal })
  }

  async #textOf(found: FoundArtifacts): Promise<string> {
    const { clock, projection, signal } = this.#with
    return runInTurn(specialText(found, this.#names, projection), { clock, signal })
  }
}

/** Whether a path leads into an index: what others keep may be many megabytes. */
function isAsked(index: string, { included }: Projection): boolean {
  return included.paths.some(({ segments: [, name = '*'] }) => name === '*' || name === index)
}

/** A document with its special members behind the others. Both are JSON objects. */
export function withSpecial(body: Buffer, special: string): Buffer {
  if (special === '{}') return body
  if (body.length === '{}'.length) return Buffer.from(special)
  return Buffer.concat([body.subarray(0, -1), Buffer.from(`,${special.slice(1)}`)])
}
