// Random documents in the shards of three tables, and random queries of each: one shard that has all documents, many
// shards whose indexes are asked together, and the same shards, each asked alone.

import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { EventLoopTurns } from '../../../node/search/tables/event-loop-turns.ts'
import type { QueriedShard, QueriedTable } from '../../../node/search/tables/queried-table.ts'
import type { QueryResult } from '../../../node/search/run/query-result.ts'
import { queryTable } from '../../../node/search/table-query.ts'
import { parseExact } from '../../../node/document/exact-json.ts'
import type { IndexWorkerPool } from '../../../node/index/host/index-worker-pool.ts'
import { parseQueryRequest } from '../../../node/query/request/query-request.ts'
import type { WriteOp } from '../../../node/shard/command/command.ts'
import { openTestPool, TextShard, WORDS } from '../worlds/text-shard.ts'
import { PAIRS_SCHEMA, PairGenerator } from './asked-pairs.ts'
import { countTo } from './load.ts'

/** So little that the indexes are flushed all the time. */
const MEMORY_BYTES_MAX = 2 ** 20
const SCHEMA = { ...PAIRS_SCHEMA, version: 0 }
const SHARDS = 9
const WRITES_PER_ROUND = 60
const QUERIES_PER_ROUND = 25

/** Hits of one word in all documents, and of many; what ties, and what lies beside 2^53. */
const ORDERS: readonly (readonly object[])[] = [
  [],
  [{ field: '_score' }],
  [{ field: 'rank', desc: true }],
  [{ field: 'rank' }, { field: '_score', desc: true }],
  [{ field: 'tag' }, { field: 'rank', desc: true }],
  [{ field: 'tag', desc: true }],
  [{ field: '_id', desc: true }],
  [{ field: 'big' }],
  [{ field: 'big', desc: true }, { field: 'tag' }],
]

const AGGREGATIONS = {
  tags: {
    type: 'terms',
    field: 'tag',
    size: 5,
    sub_aggregations: { r: { type: 'sum', field: 'rank' } },
  },
  ranks: { type: 'histogram', field: 'rank', interval: 5 },
  few: { type: 'cardinality', field: 'tag' },
}

export interface TogetherOptions {
  readonly seed: number
  readonly rounds: number
  readonly threads: number
  /** Default: the product's workers. */
  readonly entry?: URL
}

/** What the rounds have seen besides that all tables answered alike. */
export interface TogetherSeen {
  readonly hits: number
  readonly together: number
}

/** Throws at the first query that two of the tables answer differently. */
export async function runTogether({
  seed,
  rounds,
  ...options
}: TogetherOptions): Promise<TogetherSeen> {
  await using world = await TogetherWorld.open(seededRandom(seed), options)
  let hits = 0
  for (let round = 0; round < rounds; round += 1) {
    await world.write()
    for (const _ of countTo(QUERIES_PER_ROUND)) hits += await world.compare()
  }
  return { hits, together: world.together }
}

/** The same query of shards of which the first `failed` cannot answer, each asked alone, and together. */
export async function runFailure({
  failed,
}: {
  readonly failed: number
}): Promise<{ readonly alone: QueryResult; readonly together: QueryResult }> {
  await using world = await TogetherWorld.open(seededRandom(1), { threads: 1 })
  await world.write()
  return await world.fail(failed) // the world ends with this block
}

class TogetherWorld implements AsyncDisposable {
  readonly #make: PairGenerator
  readonly #shards: readonly TextShard[]
  readonly #whole: TextShard
  /** How many shards were asked together. */
  together = 0

  private constructor(random: Random, shards: readonly TextShard[], whole: TextShard) {
    this.#make = new PairGenerator(random)
    this.#shards = shards
    this.#whole = whole
  }

  static async open(
    random: Random,
    options: Pick<TogetherOptions, 'threads' | 'entry'>,
  ): Promise<TogetherWorld> {
    const pool: IndexWorkerPool = openTestPool({ memoryBytesMax: MEMORY_BYTES_MAX, ...options })
    const open = () => TextShard.open({ pool, schema: SCHEMA })
    const shards: TextShard[] = []
    for (const _ of countTo(SHARDS)) shards.push(await open())
    return new TogetherWorld(random, shards, await open())
  }

  async write(): Promise<void> {
    const ops = new Map<TextShard, Map<string, WriteOp>>()
    for (const _ of countTo(WRITES_PER_ROUND)) {
      const op = this.#op()
      for (const shard of [this.#shardOf(op.key), this.#whole]) {
        const known = ops.get(shard) ?? new Map<string, WriteOp>()
        ops.set(shard, known.set(op.key.toString(), op))
      }
    }
    for (const [shard, own] of ops) {
      await shard.write(...own.values())
      await shard.caughtUp()
    }
  }

  #op(): WriteOp {
    const { key, json } = this.#make.document()
    if (this.#make.below(8) === 0) return { kind: 'delete', key: Buffer.from(key) }
    const big = `900719925474099${this.#make.below(10)}`
    const text = JSON.stringify(json).replace(/\}$/, `,"big":${big}}`)
    return { kind: 'put', key: Buffer.from(key), json: Buffer.from(text), expiry: { kind: 'none' } }
  }

  /** One query and perhaps the pages behind and in front of one of its hits. Answers how many hits it saw. */
  async compare(): Promise<number> {
    const order_by = ORDERS[this.#make.below(ORDERS.length)] ?? []
    const limit = 1 + this.#make.below(12)
    const asked = {
      ...(this.#make.below(3) === 0
        ? { full_text_search: { match_all: {} } }
        : { full_text_search: this.#make.query().asked }),
      ...(this.#make.below(3) === 0 ? { filter_query: this.#make.query(0).asked } : {}),
      ...(order_by.length === 0 ? {} : { order_by }),
      ...(this.#make.below(3) === 0 ? { aggregations: AGGREGATIONS } : {}),
      profile: true,
      limit,
    }
    const first = await this.#answer({ ...asked, offset: this.#make.below(4) })
    const { hits } = first.hits
    const from = hits[this.#make.below(Math.max(1, hits.length))]?.['_sort']
    if (from === undefined) return hits.length
    const after = await this.#answer({ ...asked, search_after: from })
    const before = await this.#answer({ ...asked, search_before: from })
    return hits.length + after.hits.hits.length + before.hits.hits.length
  }

  async #answer(body: object): Promise<QueryResult> {
    const shown = JSON.stringify(body)
    const whole = await this.#ask([this.#whole.shard], shown)
    const alone = await this.#ask(
      this.#shards.map(({ shard }) => aloneOf(shard)),
      shown,
    )
    const together = await this.#ask(
      this.#shards.map(({ shard }) => this.#counted(shard)),
      shown,
    )
    expectSame(shown, answerOf(alone), answerOf(whole))
    expectSame(shown, wholeAnswerOf(together), wholeAnswerOf(alone))
    return together
  }

  async fail(failed: number): Promise<{ alone: QueryResult; together: QueryResult }> {
    const shown = JSON.stringify({ full_text_search: { match_all: {} }, profile: true })
    const kind = WORDS.kind
    const alone = this.#shards.map(({ shard }, at) => {
      return at < failed ? { ...aloneOf(shard), search: notOpen } : aloneOf(shard)
    })
    const together = this.#shards.map(({ shard, pool }, at) => {
      const never = pool.newIndex({ name: `never opened ${at}`, kind })
      return at < failed
        ? { ...this.#counted(shard), indexAtOnce: () => never }
        : this.#counted(shard)
    })
    return {
      together: await this.#ask(together, shown),
      alone: await this.#ask(alone, shown),
    }
  }

  #ask(shards: readonly QueriedShard[], shown: string): Promise<QueryResult> {
    const table: QueriedTable = {
      name: 'pages',
      schema: SCHEMA,
      textIndexes: [WORDS.name],
      vectorIndexes: [],
      shards,
      shardOf: (key) => must(shards[shards.length === 1 ? 0 : this.#numberOf(key)], 'a shard'),
    }
    const parts = { clock: systemClock, turns: new EventLoopTurns() }
    const request = parseQueryRequest(parseExact(shown))
    return queryTable(parts, table, { request, signal: AbortSignal.timeout(60_000) })
  }

  #counted(shard: QueriedShard): QueriedShard {
    return {
      ...aloneOf(shard),
      indexAtOnce: (...given) => {
        const client = shard.indexAtOnce?.(...given)
        if (client !== undefined) this.together += 1
        return client
      },
    }
  }

  #shardOf(key: Buffer): TextShard {
    return must(this.#shards[this.#numberOf(key)], 'a shard')
  }

  /** Not by ranges: bounds must hold whichever shard has the lower keys. */
  #numberOf(key: Buffer): number {
    return key.reduce((sum, byte) => sum + byte, 0) % SHARDS
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#shards, this.#whole]
    for (const shard of all) await shard.close()
    for (const shard of all) await shard[Symbol.asyncDispose]()
  }
}

function aloneOf(shard: QueriedShard): QueriedShard {
  return {
    read: (key) => shard.read(key),
    search: (...given) => shard.search(...given),
  }
}

const notOpen = (): Promise<never> =>
  Promise.reject(new ServiceError('UNAVAILABLE', 'it is not open'))

type Answer = Readonly<Record<string, unknown>>

/** Without the documents, and what tells one run of a query from another. */
function answerOf({ hits, aggregations, warnings, error }: QueryResult): Answer {
  const found = hits.hits.map((hit) => [hit['_id'], hit['_score']])
  return { found, total: hits.total, max: hits.max_score, aggregations, warnings, error }
}

/** With what depends on the shards: positions carry what scores are made of as the table's shards tell it. */
function wholeAnswerOf(result: QueryResult): Answer {
  const sorts = result.hits.hits.map((hit) => hit['_sort'])
  return { ...answerOf(result), sorts, shards: result.profile?.shards }
}

function expectSame(query: string, found: Answer, expected: Answer): void {
  for (const [name, ours] of Object.entries(found)) {
    const [one, other] = [JSON.stringify(ours), JSON.stringify(expected[name])]
    if (one === other) continue
    throw new DifferentAnswer(`${query}\n${name} is ${one}\nand not ${other}`)
  }
}

/** Two tables with the same documents answered differently. */
export class DifferentAnswer extends Error {}
