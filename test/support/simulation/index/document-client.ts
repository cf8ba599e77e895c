// The one client of a simulated shard. It knows what it wrote, so it knows what each question has to find.

import { isServiceError } from '../../../../lib/errors.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { unpackAnswer } from '../../../../node/index/text/search/packed-answer.ts'
import type { TextSearchAnswer } from '../../../../node/index/text/search/text-search.ts'
import { parseQuery } from '../../../../node/query/language/parse-query.ts'
import type { WriteOp } from '../../../../node/shard/command/command.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import { Dice } from '../dice.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import type { SimulatedShard } from './simulated-shard.ts'

const KEYS = 60
/** Documents that are seldom written: what an index lost of the others comes back with the next write. */
const COLD_KEYS = 20
const COLD_CHANCE = 0.02
const VOCABULARY = ['tide', 'ebb', 'flood', 'wave', 'storm', 'calm', 'reef', 'foam'] as const
/** Words that fill an index, and that nobody asks for. */
const FILLING = 100
const HITS_MAX = 1000
const RETRY_MS = 200

/** A document's words; undefined: there is none. */
type Words = string | undefined
type Contents = ReadonlyMap<string, Words>

export class DocumentClient {
  readonly #shard: SimulatedShard
  readonly #dice: Dice
  /** As it was acknowledged. */
  readonly #documents = new Map<string, Words>()
  /** By key, what a write may have left whose answer was not heard. */
  readonly #open = new Map<string, Words>()
  #serial = 0
  #compared = 0

  constructor(shard: SimulatedShard, seed: number) {
    this.#shard = shard
    this.#dice = Dice.of(seed)
  }

  /** Questions that were compared with the documents. */
  get compared(): number {
    return this.#compared
  }

  /** Some documents and deletions, by one write. */
  async write(dice: Dice, opsMax: number): Promise<void> {
    const written = new Map<string, Words>()
    const count = 1 + Math.floor(dice.between(0, opsMax))
    for (let i = 0; i < count; i++) {
      const key = dice.chance(COLD_CHANCE)
        ? `cold${Math.floor(dice.between(0, COLD_KEYS))}`
        : `k${Math.floor(dice.between(0, KEYS))}`
      written.set(key, dice.chance(0.25) ? undefined : this.#words(dice))
    }
    for (const [key, words] of written) this.#open.set(key, words)
    const { shard } = this.#shard
    await shard.write({ checks: [], ops: [...written].map(opOf), ttl: shard.ttl })
    for (const [key, words] of written) this.#documents.set(key, words)
    for (const key of written.keys()) this.#open.delete(key)
  }

  /** One word in every index, after everything that was written. */
  async compare(dice: Dice): Promise<void> {
    await this.#shard.shard.waitForIndexes({ signal: new AbortController().signal })
    await this.#compareWord(dice.pick(VOCABULARY) ?? '')
  }

  /** Every word in every index. */
  async compareAll(): Promise<void> {
    await this.#shard.shard.waitForIndexes({ signal: new AbortController().signal })
    for (const word of VOCABULARY) await this.#compareWord(word)
  }

  /** Each document is found as it was before the write, or as it is afterwards. */
  async askWhileWriting(dice: Dice): Promise<void> {
    await this.#shard.shard.waitForIndexes({ signal: new AbortController().signal })
    const before = new Map(this.#documents)
    const writing = this.write(dice, 20)
    const word = dice.pick(VOCABULARY) ?? ''
    const [{ name } = { name: '' }] = this.#shard.settings.indexes
    const found = await this.#find(name, word)
    await writing
    const sure = keysWith(before, word).filter((key) => hasWord(this.#documents.get(key), word))
    const possible = new Set([...keysWith(before, word), ...keysWith(this.#documents, word)])
    const missing = sure.filter((key) => !found.includes(key))
    const invented = found.filter((key) => !possible.has(key))
    this.#expectNone(name, word, { missing, invented })
  }

  /** Reads what the writes left whose answers were not heard. Everything acknowledged has to be there. */
  async learnAfterCrash(): Promise<void> {
    for (let i = 0; i < KEYS; i++) {
      const key = `k${i}`
      const record = await this.#shard.shard.read(Buffer.from(key))
      const found = record === undefined ? undefined : wordsOf(jsonOf(record))
      const isKnown = found === this.#documents.get(key)
      const isOpen = this.#open.has(key) && found === this.#open.get(key)
      if (!isKnown && !isOpen) throw new BrokenInvariant(`${key} is not as it was acknowledged`)
      this.#documents.set(key, found)
    }
    this.#open.clear()
  }

  async #compareWord(word: string): Promise<void> {
    const expected = keysWith(this.#documents, word)
    for (const { name } of this.#shard.settings.indexes) {
      const found = await this.#find(name, word)
      const missing = expected.filter((key) => !found.includes(key))
      const invented = found.filter((key) => !expected.includes(key))
      this.#expectNone(name, word, { missing, invented })
    }
  }

  #expectNone(
    index: string,
    word: string,
    {
      missing,
      invented,
    }: { readonly missing: readonly string[]; readonly invented: readonly string[] },
  ): void {
    this.#compared += 1
    if (missing.length + invented.length === 0) return
    throw new BrokenInvariant(
      `X1: "${word}" in ${index}: missing ${missing.join()}, invented ${invented.join()}`,
    )
  }

  /** The keys that an index finds, once it serves. No key is found twice. */
  async #find(index: string, word: string): Promise<readonly string[]> {
    for (;;) {
      const { clock, shard } = this.#shard
      const limits = { signal: new AbortController().signal, deadlineMs: Infinity }
      try {
        const packed = await shard.search(index, searchFor(word, clock.nowMs()), limits)
        const { hits, total }: TextSearchAnswer = runAtOnce(unpackAnswer(packed))
        const keys = hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
        if (new Set(keys).size === keys.length && total === keys.length) return keys
        throw new BrokenInvariant(`"${word}" in ${index}: ${total} found, ${keys.join()}`)
      } catch (error) {
        if (!isServiceError(error) || error.code !== 'UNAVAILABLE') throw error
        await clock.sleep(RETRY_MS)
      }
    }
  }

  #words(dice: Dice): string {
    this.#serial += 1
    const words = dice.some(VOCABULARY, 1 + Math.floor(dice.between(0, 3)))
    const filling = this.#dice.chance(0.15)
      ? Array.from({ length: FILLING }, (_, i) => `f${this.#serial}x${i}`)
      : []
    // No two documents are alike, so that an older one is told from a newer one.
    return [...words, `n${this.#serial}`, ...filling].join(' ')
  }
}

function opOf([key, words]: readonly [string, Words]): WriteOp {
  if (words === undefined) return { kind: 'delete', key: Buffer.from(key) }
  const json = Buffer.from(JSON.stringify({ text: words }))
  return { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } }
}

function wordsOf(json: Buffer): string {
  const { text }: { readonly text: string } = JSON.parse(json.toString())
  return text
}

function hasWord(words: Words, word: string): boolean {
  return words?.split(' ').includes(word) === true
}

function keysWith(documents: Contents, word: string): readonly string[] {
  return [...documents].flatMap(([key, words]) => (hasWord(words, word) ? [key] : [])).toSorted()
}

function searchFor(word: string, nowMs: number) {
  const query = parseQuery({ match: word, field: 'text' }, 'query')
  const request = {
    conditions: { query, filter: undefined, exclusion: undefined, keyPrefix: undefined },
    order: [{ field: '_score', isDescending: true }],
    window: { kind: 'first', limit: HITS_MAX },
    aggregations: new Map(),
    statistics: undefined,
    nowMs,
  } as const
  return { kind: 'text', question: 'search', request } as const
}
