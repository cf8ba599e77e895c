import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { Replaceable } from '../../../../../lib/replaceable.ts'
import { ModelKeys } from '../../../../../node/catalog/tables/model-keys.ts'
import { OpenTable } from '../../../../../node/catalog/tables/open-table.ts'
import { SealedKeys } from '../../../../../node/catalog/admin/sealed-keys.ts'
import type { TableRecord } from '../../../../../node/catalog/records/table-record.ts'
import { TableRegistry } from '../../../../../node/catalog/tables/table-registry.ts'
import type { IndexDefinition } from '../../../../../node/index/host/index-definition.ts'
import { KeySeal } from '../../../../../node/providers/access/key-seal.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { countTo } from '../../../../support/loads/load.ts'

const OLD = Buffer.alloc(32, 1)
const NEW = Buffer.alloc(32, 2)
const OTHER = Buffer.alloc(32, 3)
const sealedBy = (secret: Buffer, key: string): string =>
  `\${sealed:${new KeySeal(new Replaceable([secret])).seal(key)}}`

interface KeysOfIndex {
  readonly embedder?: string | undefined
  readonly summarizer?: string | undefined
  readonly chunker?: string | undefined
}

function model(key: string | undefined) {
  return { provider: 'openai', model: 'm', ...(key === undefined ? {} : { api_key: key }) }
}

/** As the catalog keeps it. */
function managed(name: string, { embedder, summarizer, chunker }: KeysOfIndex): IndexDefinition {
  const settings = {
    external: false,
    sparse: false,
    dimension: 4,
    metric: 'cosine',
    engine: 'exact',
    quantization: 'f32',
    source: { kind: 'field', path: 'text' },
    embedder: model(embedder),
    ...(summarizer === undefined ? {} : { summarizer: model(summarizer) }),
    ...(chunker === undefined
      ? {}
      : { chunker: { config: model(chunker), storeChunks: false, fullText: false } }),
  }
  return { id: name.padEnd(16, '0'), kind: 'vectors', name, memOnly: false, settings }
}

/** A node with tables of these indexes, whose first secret is NEW and which accepts OLD, too. */
class KeysWorld {
  readonly secrets = new Replaceable<readonly Uint8Array[]>([NEW, OLD])
  readonly registry = new TableRegistry()
  readonly keys = new ModelKeys(new KeySeal(this.secrets))
  readonly rewritten: string[] = []
  #ms = 0
  readonly refused = new Set<string>()
  readonly warnings: unknown[] = []
  readonly sealed = new SealedKeys({
    registry: this.registry,
    keys: this.keys,
    admin: { rewrite: (name) => this.#rewrite(name) },
    // A millisecond passes at each look.
    clock: { ...systemClock, monotonicMs: () => (this.#ms += 1) },
    log: { ...silentLog, warn: (message, fields) => void this.warnings.push([message, fields]) },
  })

  constructor(tables: Readonly<Record<string, readonly IndexDefinition[]>>) {
    for (const [name, indexes] of Object.entries(tables)) {
      const record: TableRecord = {
        name,
        tableId: name.padEnd(16, '0'),
        state: 'ready',
        description: undefined,
        schema: undefined,
        ttlGeneration: 1,
        indexes,
        hasBuiltInIndex: true,
        replication: undefined,
      }
      this.registry.set(new OpenTable(record, []))
    }
  }

  of(table: string) {
    return this.keys.of(this.registry.get(table).record.indexes)
  }

  async #rewrite(name: string): Promise<void> {
    if (this.refused.has(name)) throw new ServiceError('UNAVAILABLE', `${name} is refused`)
    const { record } = this.registry.get(name)
    const indexes = this.keys.sealed(record.indexes)
    this.registry.set(new OpenTable({ ...record, indexes }, []))
    this.rewritten.push(name)
  }
}

describe('the sealed keys of models', () => {
  it('are looked at in many turns, however many tables there are', async () => {
    const tables = countTo(200).map((n) => [
      `t${n}`,
      [managed('one', { embedder: sealedBy(NEW, 'k') })],
    ])
    const world = new KeysWorld(Object.fromEntries(tables))
    let turns = 0
    const over = new AbortController()
    const counting = (async () => {
      for (; !over.signal.aborted; turns += 1) await nextTurn()
    })()

    await world.sealed.sealAnew()
    await world.sealed.lostWith([OTHER])
    over.abort()
    await counting

    expect(turns).to.be.above(20)
  })

  it('are told apart by the secret under which they are, in each place of a key', () => {
    const [embedder, summarizer, chunker] = [NEW, OLD, OTHER].map((one) => sealedBy(one, 'k'))
    const world = new KeysWorld({
      a: [
        managed('one', { embedder, summarizer, chunker }),
        managed('two', { embedder: 'sk-plain', summarizer: '${secret:named}' }),
        managed('three', {}),
      ],
    })

    expect(world.of('a')).to.deep.equal({
      first: ['one'],
      accepted: ['one'],
      none: ['one'],
      plain: ['two'],
    })
  })

  it('are sealed anew where another accepted secret sealed them, and nothing else is written', async () => {
    const world = new KeysWorld({
      fresh: [managed('i', { embedder: sealedBy(NEW, 'k') })],
      lost: [managed('i', { embedder: sealedBy(OTHER, 'k') })],
      old: [managed('i', { embedder: sealedBy(OLD, 'k'), chunker: sealedBy(OTHER, 'k') })],
      plain: [managed('i', { embedder: 'sk-plain' })],
    })

    await world.sealed.sealAnew()
    await world.sealed.sealAnew()

    expect(world.rewritten).to.deep.equal(['old'])
    expect(world.of('old')).to.deep.equal({ first: ['i'], accepted: [], none: ['i'], plain: [] })
    world.secrets.replace([NEW])
    expect(world.of('old').first).to.deep.equal(['i'])
  })

  it('are sealed anew beside a key that cannot be sealed', async () => {
    const plain = 'sk-${secret:half}'
    const world = new KeysWorld({
      a: [managed('i', { embedder: sealedBy(OLD, 'k'), summarizer: plain })],
    })

    await world.sealed.sealAnew()

    expect(world.of('a')).to.deep.equal({ first: ['i'], accepted: [], none: [], plain: ['i'] })
  })

  it('of one table wait for no other table that refuses', async () => {
    const indexes = [managed('i', { embedder: sealedBy(OLD, 'k') })]
    const world = new KeysWorld({ a: indexes, b: indexes, c: indexes })
    world.refused.add('a')

    const error = await errorOf(() => world.sealed.sealAnew())
    world.refused.clear()
    await world.sealed.sealAnew()

    expect(error).to.have.property('message', 'a is refused')
    expect(world.rewritten).to.deep.equal(['b', 'c', 'a'])
  })

  it('let a secret go once they do not need it', async () => {
    const world = new KeysWorld({
      a: [managed('i', { embedder: sealedBy(OLD, 'k') })],
      b: [managed('j', { embedder: sealedBy(OTHER, 'k') })],
    })
    world.refused.add('a')

    const refused = await world.sealed.lostWith([NEW])
    world.refused.clear()
    const allowed = await world.sealed.lostWith([NEW])

    expect(refused).to.deep.equal(['a/i'])
    expect(allowed).to.deep.equal([])
    expect(await world.sealed.lostWith([OTHER])).to.deep.equal(['a/i'])
  })

  it('are named in the log when no secret opens them', () => {
    const world = new KeysWorld({ a: [managed('i', { embedder: sealedBy(OLD, 'k') })] })
    world.sealed.watch()
    const before = world.warnings.length

    world.secrets.replace([NEW])

    expect(before).to.equal(0)
    expect(JSON.stringify(world.warnings)).to.include('"table":"a","indexes":["i"]')
  })
})
