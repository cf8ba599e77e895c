// An embedder over one protocol: it makes batches, waits for its pace, and trusts no answer.

import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import type { EmbedOptions, Embedder } from '../contract/provider.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import type { EmbedItem, EmbedProtocol, NumberForm } from './embed-protocol.ts'
import {
  ITEM_BYTES_MAX,
  answerBytesMax,
  bytesOfItem,
  limitsFor,
  nextBatch,
} from './item-batches.ts'
import type { ItemBatch, KnownAnswers } from './item-batches.ts'
import { ProviderPace } from './provider-pace.ts'
import type { PaceLimits } from './provider-pace.ts'

/** Also in memory at once: twice, as text and as the body of its request. */
const PACE_LIMITS_DEFAULT: PaceLimits = { inFlightMax: 8, bytesMax: 32 * 1024 * 1024 }

/** Half of what a query has: words or other indexes can answer it in the other half. */
const QUERY_MS_MAX = 15_000

const SLOWEST_FIRST: readonly NumberForm[] = ['decimal', 'base64', 'binary']

/** Embeds by the requests of a protocol (see the contract of Embedder). */
export class BatchedEmbedder implements Embedder {
  readonly #protocol: EmbedProtocol
  readonly #pace: ProviderPace
  readonly #clock: Clock
  readonly #closing = new AbortController()
  #known: KnownAnswers | undefined

  constructor(protocol: EmbedProtocol, clock: Clock, limits: PaceLimits = PACE_LIMITS_DEFAULT) {
    this.#protocol = protocol
    this.#clock = clock
    this.#pace = new ProviderPace(limits, clock)
  }

  get name(): string {
    return this.#protocol.name
  }

  get acceptsImages(): boolean {
    return this.#protocol.acceptsImages
  }

  async embed(items: readonly EmbedItem[], options: EmbedOptions): Promise<Float32Array[]> {
    options.signal.throwIfAborted()
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason
    this.#checkItems(items)
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    return options.use === 'query'
      ? this.#embedInTime(items, signal)
      : this.#embedAll(items, { ...options, signal })
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(unavailable(`${this.name}: the embedder is closed`))
  }

  async #embedInTime(items: readonly EmbedItem[], signal: AbortSignal): Promise<Float32Array[]> {
    const late = new AbortController()
    const options = { use: 'query', signal: AbortSignal.any([signal, late.signal]) } as const
    const message = `${this.name}: it embedded no query within ${QUERY_MS_MAX} ms`
    return prodWhenLate(this.#embedAll(items, options), {
      clock: this.#clock,
      ms: QUERY_MS_MAX,
      onLate: () => late.abort(unavailable(message)),
    })
  }

  async #embedAll(items: readonly EmbedItem[], options: EmbedOptions): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    while (vectors.length < items.length) {
      const limits = limitsFor(this.#protocol.limits, this.#known)
      const batch = nextBatch(items, vectors.length, limits)
      if (batch === undefined) break
      const answered = await this.#request(batch, options)
      this.#checkDimension(answered, vectors[0]?.length)
      vectors.push(...answered)
    }
    return vectors
  }

  #checkItems(items: readonly EmbedItem[]): void {
    const { name, acceptsImages } = this.#protocol
    if (items.some((item) => item.length === 0)) throw refused(`${name}: an item has no parts`)
    const largest = items.find((item) => bytesOfItem(item) > ITEM_BYTES_MAX)
    if (largest !== undefined) {
      const bytes = bytesOfItem(largest)
      throw refused(`${name}: an item has ${bytes} bytes; up to ${ITEM_BYTES_MAX} are embedded`)
    }
    if (acceptsImages) return
    const hasImage = items.some((item) => item.some(({ kind }) => kind === 'image'))
    if (hasImage) throw refused(`${name}: the model embeds only texts`)
  }

  async #request(
    { items, bytes }: ItemBatch,
    { signal, use }: EmbedOptions,
  ): Promise<readonly Float32Array[]> {
    const { name } = this.#protocol
    const call = { name, bytes, isUrgent: use === 'query', signal }
    const options = { use, signal, answerBytesMax: answerBytesMax(this.#known) }
    const { vectors, form } = await this.#pace.run(call, () =>
      this.#protocol.request(items, options),
    )
    this.#check(vectors, items.length)
    this.#learn(vectors, form)
    return vectors
  }

  #check(vectors: readonly Float32Array[], count: number): void {
    const { name, dimension = this.#known?.dimension } = this.#protocol
    if (vectors.length !== count) {
      throw unavailable(`${name}: it answered ${vectors.length} vectors to ${count} inputs`)
    }
    if (vectors.some((vector) => vector.length === 0)) {
      throw unavailable(`${name}: it answered a vector without numbers`)
    }
    this.#checkDimension(vectors, dimension)
    if (vectors.every((vector) => vector.every((value) => Number.isFinite(value)))) return
    throw unavailable(`${name}: it answered a vector with numbers that are not finite`)
  }

  /** The model behind a name may have been replaced: a dimension that it answers again after this failure is its own. */
  #checkDimension(vectors: readonly Float32Array[], before: number | undefined): void {
    const expected = before ?? vectors[0]?.length
    const other = vectors.find((vector) => vector.length !== expected)
    if (other === undefined) return
    this.#known = undefined
    const { name } = this.#protocol
    throw unavailable(
      `${name}: it answered a vector of ${other.length} numbers, expected ${expected}`,
    )
  }

  /** A provider that once answered in another form than asked may do so again. */
  #learn(vectors: readonly Float32Array[], form: NumberForm): void {
    const [first] = vectors
    if (first === undefined) return
    const seen = [form, this.#known?.form ?? form]
    const slowest = SLOWEST_FIRST.find((each) => seen.includes(each)) ?? form
    this.#known = { dimension: first.length, form: slowest }
  }
}
