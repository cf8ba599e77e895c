// Documents whose vectors the store makes, by a provider that fails now and then: after each restart every document
// ends with the vector of its present text, the index finds just these, and no text was embedded again and again.

import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import {
  doubleVector,
  type Fault,
  type ProviderServer,
} from '../servers/providers/provider-server.ts'
import { ollamaDouble } from '../servers/providers/wire-doubles.ts'
import type { StoreClient } from '../servers/store-client.ts'
import { StepHistory } from './history.ts'
import { countTo, FOUR_SHARDS, pick, SHARD_PREFIXES } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'

const TABLE = 'meant'
const INDEX = 'meaning'
const DOCUMENTS = 24
const WRITERS = 2
const DELETE_EVERY = 7
/** One in so many writes makes the provider fail at its next call. */
const FAULT_EVERY = 40
const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 429 },
  { kind: 'status', status: 503 },
  { kind: 'reset-before' },
  { kind: 'reset-within' },
  { kind: 'not-json' },
]
const ENRICHED_DEADLINE_MS = 120_000
const PERIOD_MS = 20
/** A kill under load, one during the restart, one more leader, and the first time. */
const EMBEDDED_PER_ROUND_MAX = 4

/** The provider belongs to the caller, and outlives the store. */
export class EnrichedLoad implements Load {
  /** `check` compares the index itself. */
  readonly tables: readonly IndexedTable[] = []
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #provider: ProviderServer
  readonly #histories: readonly StepHistory[]
  #faults = 0

  constructor(context: LoadContext, provider: ProviderServer) {
    this.#context = context
    this.#provider = provider
    this.#histories = countTo(DOCUMENTS).map((index) => {
      const prefix = SHARD_PREFIXES[index % SHARD_PREFIXES.length] ?? ''
      return new StepHistory(`${prefix}/${index}`, DELETE_EVERY)
    })
    this.clients = countTo(WRITERS).map((writer): ClientStep => {
      const own = this.#histories.filter((_, index) => index % WRITERS === writer)
      return (store) => this.#write(store, pick(context.random, own))
    })
  }

  async prepare(store: StoreClient): Promise<void> {
    const embedder = { provider: 'ollama', model: 'm', url: this.#provider.url }
    const index = { type: 'embeddings', field: 'text', embedder }
    await store.createTable(TABLE, { ...FOUR_SHARDS, indexes: { [INDEX]: index } })
  }

  async check(store: StoreClient): Promise<void> {
    for (const history of this.#histories) {
      const floor = history.floor()
      const { document } = await store.lookup(TABLE, history.name)
      history.check(document?.['n'], floor)
    }
    await this.#expectFound(store, await this.#enriched(store))
    this.#expectEmbeddedSeldom()
  }

  async #write(store: StoreClient, history: StepHistory): Promise<void> {
    if (this.#context.random() * FAULT_EVERY < 1) {
      this.#faults += 1
      this.#provider.failNext(pick(this.#context.random, FAULTS))
    }
    const step = history.begin()
    const { name } = history
    const document = { n: step.number, text: textOf(name, step.number) }
    await store.batch(TABLE, step.deletes ? { deletes: [name] } : { inserts: { [name]: document } })
    history.acknowledge(step)
    this.#context.tally.add()
  }

  /** The vectors of all documents, by key, once each is the one of its text. */
  async #enriched(store: StoreClient): Promise<ReadonlyMap<string, readonly number[]>> {
    const deadlineMs = systemClock.monotonicMs() + ENRICHED_DEADLINE_MS
    for (;;) {
      const lines = await store.scan(TABLE, { fields: ['text', '_embeddings'] })
      const late = lines.filter(
        ({ text, _embeddings: vectors }) =>
          JSON.stringify(vectors) !== JSON.stringify({ [INDEX]: doubleVector(String(text)) }),
      )
      if (late.length === 0) {
        return new Map(lines.map(({ key, text }) => [key, doubleVector(String(text))]))
      }
      expect(
        systemClock.monotonicMs(),
        `not enriched yet: ${JSON.stringify(late.slice(0, 3))}`,
      ).to.be.below(deadlineMs)
      await systemClock.sleep(PERIOD_MS)
    }
  }

  /** By their distance from the origin. */
  async #expectFound(
    store: StoreClient,
    vectors: ReadonlyMap<string, readonly number[]>,
  ): Promise<void> {
    const body = {
      embeddings: { [INDEX]: [0, 0, 0, 0] },
      limit: 2 * DOCUMENTS,
      search_effort: 1,
      fields: ['n'],
    }
    const expected = new Map(
      [...vectors].map(([key, vector]) => [key, vector.reduce((sum, x) => sum + x * x, 0)]),
    )
    const deadlineMs = systemClock.monotonicMs() + ENRICHED_DEADLINE_MS
    for (;;) {
      const { text } = await store.succeed('POST', `/api/v1/tables/${TABLE}/query`, body)
      const { responses }: Found = JSON.parse(text)
      const hits = responses.flatMap((response) => response.hits.hits)
      const found = new Map(hits.map(({ _id, _index_scores }) => [_id, _index_scores[INDEX]]))
      // The index reads the artifacts a moment after they are in the store.
      if (systemClock.monotonicMs() > deadlineMs || sameEntries(found, expected)) {
        expect(found, `what ${INDEX} finds`).to.deep.equal(expected)
        return
      }
      await systemClock.sleep(PERIOD_MS)
    }
  }

  /** Since the last check, all of whose texts had been embedded. */
  #expectEmbeddedSeldom(): void {
    const counts = new Map<string, number>()
    for (const request of this.#provider.received.splice(0)) {
      for (const text of ollamaDouble.textsOf(request)) {
        counts.set(text, (counts.get(text) ?? 0) + 1)
      }
    }
    const atMost = EMBEDDED_PER_ROUND_MAX + this.#faults
    this.#faults = 0
    const often = [...counts].filter(([, count]) => count > atMost)
    expect(often, `texts that were embedded more than ${atMost} times`).to.deep.equal([])
  }
}

interface Found {
  readonly responses: readonly { readonly hits: { readonly hits: readonly Hit[] } }[]
}

interface Hit {
  readonly _id: string
  readonly _index_scores: Readonly<Record<string, number>>
}

/** Two steps in a row may have one text, which is embedded once. Its last character tells texts apart. */
function textOf(key: string, number: number): string {
  const which = Math.ceil(number / 2)
  return `${key} says ${which} ${String.fromCodePoint(0x100 + which)}`
}

function sameEntries(
  found: ReadonlyMap<string, number | undefined>,
  expected: ReadonlyMap<string, number>,
): boolean {
  return (
    found.size === expected.size && [...expected].every(([key, value]) => found.get(key) === value)
  )
}
