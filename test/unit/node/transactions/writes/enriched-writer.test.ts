import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../../lib/clock.ts'
import { messageOf, ServiceError } from '../../../../../lib/errors.ts'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { OpenTable } from '../../../../../node/catalog/tables/open-table.ts'
import {
  EnrichedWriter,
  type WriteRunOptions,
} from '../../../../../node/transactions/writes/enriched-writer.ts'
import type { RunOutcome } from '../../../../../node/transactions/run-outcome.ts'
import {
  PartCollector,
  type TransactionPart,
} from '../../../../../node/transactions/transaction-part.ts'
import { parseTransforms } from '../../../../../node/document/transform.ts'
import { decodeArtifact } from '../../../../../node/embedding/artifact.ts'
import type { Enrichment, Source } from '../../../../../node/enrichment/enrichment.ts'
import type { ManagedIndex } from '../../../../../node/enrichment/open-enrichment.ts'
import { ModelPool } from '../../../../../node/providers/pool/model-pool.ts'
import {
  SYNC_LEVELS,
  type SyncLevel,
  type TableWrites,
} from '../../../../../node/document/writes.ts'
import { jsonOf } from '../../../../../node/shard/format/document-record.ts'
import { VectorMemory } from '../../../../../node/transactions/writes/held-vectors.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { ShardWorld } from '../../../../support/worlds/shard-world.ts'

const INDEX_ID = 'ab'.repeat(8)
const TABLE = 't'
const KEY = Buffer.from('a')

/** What the model does with its next call. */
type Behaviour = (signal: AbortSignal) => Promise<void>

/** A table of one shard with a managed index, whose model embeds a document as the number of its bytes. */
class Writing implements AsyncDisposable {
  readonly clock: ManualClock
  readonly memory = new VectorMemory({ requestBytesMax: 1000, nodeBytesMax: 1500 })
  readonly writer: EnrichedWriter
  dimension = 1
  before: Behaviour = async () => undefined
  calls = 0
  readonly #world: ShardWorld
  readonly #table: OpenTable

  private constructor(world: ShardWorld, clock: ManualClock) {
    this.clock = clock
    this.#world = world
    const { record, shards } = world.table(TABLE)
    const settings = {
      external: false,
      sparse: false,
      dimension: 1,
      metric: 'l2_squared',
      engine: 'exact',
      quantization: 'f32',
      source: { kind: 'document' },
      embedder: { provider: 'quarry' },
    }
    const index = { id: INDEX_ID, kind: 'vectors', name: 'meaning', memOnly: false, settings }
    this.#table = new OpenTable({ ...record, indexes: [index] }, shards)
    const enrichments = new ModelPool<ManagedIndex, Enrichment>(() => this.#enrichment(), 1)
    const { runner } = world
    this.writer = new EnrichedWriter({ clock, runner, enrichments, memory: this.memory })
  }

  static async open(): Promise<Writing> {
    const clock = new ManualClock()
    return new Writing(await ShardWorld.open([TABLE], { clock }), clock)
  }

  parts(json: string | undefined, transforms = '[]', version?: bigint): readonly TransactionPart[] {
    const collector = new PartCollector()
    if (version !== undefined) {
      const claims = [{ table: TABLE, key: KEY, version }]
      runAtOnce(collector.addClaims(claims, () => this.#table))
    }
    const inserts = json === undefined ? [] : [{ key: KEY, json: Buffer.from(json) }]
    const parsed = parseTransforms(Buffer.from(transforms), 'transforms')
    const writes = { table: TABLE, deletes: [], inserts, transforms: parsed }
    runAtOnce(collector.addWrites(this.#table, writes))
    return collector.parts
  }

  /** The parts of any request to the table. */
  partsOf(writes: Omit<TableWrites, 'table'>): readonly TransactionPart[] {
    const collector = new PartCollector()
    runAtOnce(collector.addWrites(this.#table, { table: TABLE, ...writes }))
    return collector.parts
  }

  run(syncLevel: SyncLevel, parts: readonly TransactionPart[]): Promise<RunOutcome> {
    const options: WriteRunOptions = { onContention: 'wait', syncLevel }
    return this.writer.run(parts, options)
  }

  async json(key = KEY): Promise<string | undefined> {
    const record = await this.#table.shardOf(key).read(key)
    return record && jsonOf(record).toString()
  }

  /** The one number of the vector that is stored. */
  async vector(): Promise<number | undefined> {
    const asked = { keys: [KEY], indexes: [INDEX_ID] }
    const [found] = await this.#table.shardOf(KEY).artifacts(asked)
    const artifact = found?.[0] === undefined ? undefined : decodeArtifact(found[0])
    return artifact?.kind === 'dense' ? artifact.rows[0]?.vector[0] : undefined
  }

  async whenAsked(count = 1): Promise<void> {
    while (this.calls < count) await nextTurn()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world[Symbol.asyncDispose]()
  }

  #enrichment(): Enrichment {
    return {
      index: INDEX_ID,
      batch: { items: 100, bytes: 1_000_000 },
      sourceOf: async ({ json }): Promise<Source> => ({
        parts: [{ kind: 'text', text: json.toString() }],
        hash: Buffer.alloc(16, json.length),
        bytes: json.length,
      }),
      make: async (sources, { signal }) => {
        this.calls += 1
        await this.before(signal)
        return sources.map(({ hash, bytes }) => {
          const vector = new Float32Array(this.dimension).fill(bytes)
          const head = { kind: 'dense', ordinal: 0, sourceHash: hash } as const
          const rows = [{ start: 0, end: 0, vector }]
          return { kind: 'made', artifact: { ...head, dimension: this.dimension, rows } }
        })
      },
      close: async () => undefined,
    }
  }
}

function silence(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

const MAKES_VECTORS: Readonly<Record<SyncLevel, boolean>> = {
  propose: false,
  write: false,
  full_text: false,
  enrichments: true,
  aknn: true,
  full_index: true,
}

async function outcomeOf(run: Promise<RunOutcome>): Promise<string> {
  return run.then(
    ({ kind }) => kind,
    (error: unknown) => messageOf(error),
  )
}

const ADD = '[{"key":"a","operations":[{"op":"$set","path":"b","value":22}]}]'

describe('writes with vectors', () => {
  let writing: Writing

  beforeEach(async () => {
    writing = await Writing.open()
  })

  afterEach(() => writing[Symbol.asyncDispose]())

  for (const level of SYNC_LEVELS) {
    const isMade = MAKES_VECTORS[level]
    it(`${isMade ? 'make' : 'leave out'} vectors at the level ${level}`, async () => {
      await writing.run(level, writing.parts('{"a":1}'))

      expect(await writing.json()).to.equal('{"a":1}')
      expect(await writing.vector()).to.equal(isMade ? 7 : undefined)
    })
  }

  it('fail after a minute, with nothing written', async () => {
    writing.before = silence
    const failing = errorOf(() => writing.run('enrichments', writing.parts('{"a":1}')))
    await writing.whenAsked()

    writing.clock.advance(60_000)

    expect(await failing).to.have.property('code', 'DEADLINE_EXCEEDED')
    expect(await writing.json()).to.equal(undefined)
  })

  it('go without vectors after ten seconds at the level aknn', async () => {
    writing.before = silence
    const written = writing.run('aknn', writing.parts('{"a":1}'))
    await writing.whenAsked()

    writing.clock.advance(10_000)

    expect(await written).to.have.property('kind', 'committed')
    expect(await writing.json()).to.equal('{"a":1}')
    expect(await writing.vector()).to.equal(undefined)
  })

  it('end with their signal, with nothing written', async () => {
    writing.before = silence
    const gone = new AbortController()
    const options = { onContention: 'wait', signal: gone.signal } as const
    const parts = writing.parts('{"a":1}')
    for (const syncLevel of ['enrichments', 'aknn'] as const) {
      const asked = writing.calls + 1
      const failing = errorOf(() => writing.writer.run(parts, { ...options, syncLevel }))
      if (!gone.signal.aborted) await writing.whenAsked(asked)

      gone.abort(new ServiceError('CANCELLED', 'the client has gone'))

      expect(await failing).to.have.property('code', 'CANCELLED')
    }
    expect(await writing.json()).to.equal(undefined)
  })

  it('embed what a transform makes of the document that is there when it is written', async () => {
    await writing.run('write', writing.parts('{"a":1}'))
    writing.before = async () => {
      writing.before = async () => undefined
      await writing.run('write', writing.parts('{"a":12345}'))
    }

    await writing.run('enrichments', writing.parts(undefined, ADD))

    expect(await writing.json()).to.equal('{"a":12345,"b":22}')
    expect(await writing.vector()).to.equal('{"a":12345,"b":22}'.length)
    expect(writing.calls).to.equal(2)
  })

  it('give up when a document keeps changing under a transform', async () => {
    await writing.run('write', writing.parts('{"a":1}'))
    let changes = 0
    writing.before = async () => {
      await writing.run('write', writing.parts(`{"a":${changes++}}`))
    }

    const error = await errorOf(() => writing.run('enrichments', writing.parts(undefined, ADD)))

    expect(error).to.have.property('code', 'CONFLICT')
    expect(changes).to.equal(10)
    expect(await writing.json()).to.equal('{"a":9}')
  })

  it('leave a transform to the shard at the level aknn when its document changes', async () => {
    await writing.run('write', writing.parts('{"a":1}'))
    writing.before = async () => {
      await writing.run('write', writing.parts('{"a":12345}'))
    }

    const outcome = await writing.run('aknn', writing.parts(undefined, ADD))

    expect(outcome).to.have.property('kind', 'committed')
    expect(await writing.json()).to.equal('{"a":12345,"b":22}')
  })

  it('tell a client of the conflict that it has asked for', async () => {
    const outcome = await writing.run('enrichments', writing.parts('{"a":1}', '[]', 7n))

    expect(outcome).to.include({ kind: 'conflict', reason: 'version_changed' })
    expect(writing.calls).to.equal(1)
  })

  it('write the artifact of an unchanged source again', async () => {
    await writing.run('enrichments', writing.parts('{"a":1}'))
    await writing.run('enrichments', writing.parts('{"b":2}'))

    expect(writing.calls).to.equal(1)
    expect(await writing.vector()).to.equal(7)
  })

  it('refuse more vectors than a request, or all requests together, may hold', async () => {
    writing.dimension = 300
    const large = await errorOf(() => writing.run('enrichments', writing.parts('{"a":1}')))
    writing.dimension = 1
    const others = [writing.memory.share(), writing.memory.share()]
    for (const share of others) share.take(740)

    const many = await errorOf(() => writing.run('enrichments', writing.parts('{"a":1}')))
    for (const share of others) share[Symbol.dispose]()
    await writing.run('enrichments', writing.parts('{"a":1}'))

    expect(large).to.include({ code: 'INVALID_ARGUMENT' })
    expect(many).to.include({ code: 'OVERLOADED' })
    expect(await writing.vector()).to.equal(7)
    expect(writing.memory.heldBytes).to.equal(0)
  })

  it('leave what the same request leaves without vectors', async () => {
    const key = fc.constantFrom('a', 'b')
    const json = fc.constantFrom('{"n":1}', '{"n":"x"}', '{"m":{"n":2}}')
    const operation = fc.constantFrom(
      { op: '$set', path: 'n', value: 5 },
      { op: '$inc', path: 'n', value: 2 },
      { op: '$unset', path: 'n' },
      { op: '$rename', path: 'n', value: 'm' },
    )
    const transform = fc.record({
      key,
      operations: fc.array(operation, { minLength: 1, maxLength: 2 }),
      upsert: fc.boolean(),
    })
    const request = fc.record({
      deletes: fc.uniqueArray(key, { maxLength: 2 }),
      inserts: fc.dictionary(key, json, { maxKeys: 2 }),
      transforms: fc.array(transform, { maxLength: 4 }),
    })
    const requests = fc.array(request, { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        await using plain = await Writing.open()
        await using enriched = await Writing.open()
        for (const { deletes, inserts, transforms } of all) {
          const writes = {
            deletes: deletes.map((one) => Buffer.from(one)),
            inserts: Object.entries(inserts).map(([one, body]) => ({
              key: Buffer.from(one),
              json: Buffer.from(body),
            })),
            transforms: parseTransforms(Buffer.from(JSON.stringify(transforms)), 'transforms'),
          }
          const answers = [
            await outcomeOf(plain.run('write', plain.partsOf(writes))),
            await outcomeOf(enriched.run('enrichments', enriched.partsOf(writes))),
          ]
          expect(answers[1]).to.equal(answers[0])
          for (const one of ['a', 'b']) {
            const at = Buffer.from(one)
            expect(await enriched.json(at)).to.equal(await plain.json(at))
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  it('name document and index of a failure that concerns them all', async () => {
    writing.before = async () => {
      throw new ServiceError('INVALID_ARGUMENT', 'it answers vectors of 5 numbers')
    }

    const error = await errorOf(() => writing.run('full_index', writing.parts('{"a":1}')))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(error)
      .to.have.property('message')
      .that.matches(/^document "a": index "meaning": it answers vectors of 5 numbers/)
  })
})
