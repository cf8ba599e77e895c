import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import type { Log } from '../../../../lib/log.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { HybridClock } from '../../../../node/clock/hybrid-clock.ts'
import type { ClusterSummary } from '../../../../node/steering/cluster-answers.ts'
import { ModelKeys } from '../../../../node/catalog/tables/model-keys.ts'
import { clusterStatusOf } from '../../../../node/steering/cluster-status.ts'
import { OpenTable } from '../../../../node/catalog/tables/open-table.ts'
import { conditionsOf } from '../../../../node/steering/shard-conditions.ts'
import { LedShards } from '../../../../node/catalog/tables/led-shards.ts'
import { countIndexes } from '../../../../node/steering/index-summary.ts'
import { memoryBound } from '../../../support/worlds/shard-world.ts'
import { textOp, TextShard, WORDS } from '../../../support/worlds/text-shard.ts'
import { until } from '../../../support/until.ts'

type Line = readonly [message: string, fields: Readonly<Record<string, unknown>>]

/** Keeps what is said about building. */
class LogOfBuilds implements Log {
  readonly lines: Line[] = []

  debug(): void {}
  error(): void {}

  info(message: string, fields: Line[1] = {}): void {
    if (/built|catching|caught/.test(message)) this.lines.push([message, fields])
  }

  warn(message: string, fields: Line[1] = {}): void {
    this.info(message, fields)
  }

  get messages(): readonly string[] {
    return this.lines.map(([message]) => message)
  }
}

function tableOf({ shard }: TextShard): OpenTable {
  const record = {
    name: 'books',
    tableId: 'aa',
    state: 'ready',
    description: undefined,
    schema: undefined,
    ttlGeneration: 0,
    indexes: [],
    hasBuiltInIndex: true,
    replication: undefined,
    shards: [],
  } as const
  return new OpenTable(record, [shard])
}

function ledOf({ shard }: TextShard): LedShards {
  const led = new LedShards()
  led.add(shard.led)
  return led
}

const SWARM: ClusterSummary = {
  mode: 'swarm',
  controller: 'node',
  nodes: { serving: 1, leaving: 0, emptying: 0, away: 0, lost: 0 },
  shards: {
    total: 1,
    unplaced: 0,
    leaderless: 0,
    below_minimum: 0,
    under_replicated: 0,
    misplaced: 0,
  },
  moves: 0,
  waiting: [],
}

async function statusOf(text: TextShard) {
  const hybridClock = await HybridClock.open(systemClock, memoryBound)
  const tables = [tableOf(text)]
  const conditions = await conditionsOf(tables, systemClock)
  return runAtOnce(
    clusterStatusOf({
      tables,
      led: ledOf(text),
      conditions,
      lags: new Map(),
      program: { version: '1', gitCommit: undefined },
      ready: true,
      hybridClock,
      cluster: SWARM,
      keys: new ModelKeys(undefined),
    }),
  )
}

describe('the build of a text index', () => {
  it('is logged when it begins and when it ends, with table, index and reason', async () => {
    const log = new LogOfBuilds()
    await using text = await TextShard.open({ hasIndexes: false, log })
    await text.write(textOp('a', 'tide'), textOp('b', 'ebb'))
    await text.close()

    await text.open()
    await until(async () => log.lines.length === 2)

    const [[begin, why] = [], [end, what] = []] = log.lines
    const place = { table: 'books', shardId: text.shard.id, index: WORDS.name }
    expect(begin).to.equal('text index is being built')
    expect(why).to.include(place)
    expect(why?.['reason']).to.match(/there is none yet/)
    expect(end).to.equal('text index is built')
    expect(what).to.include({ ...place, documents: 2 })
  })

  it('is not logged for an empty table', async () => {
    const log = new LogOfBuilds()
    await using text = await TextShard.open({ log })
    await text.find('nothing') // once it is open

    await text.write(textOp('a', 'tide'))
    await text.caughtUp()

    expect(log.lines).to.deep.equal([])
  })

  it('shows in status and counts until it ends', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    await text.write(textOp('a', 'tide'))
    await text.close()
    text.fields.isOutOfReach = true
    await text.open()
    await until(async () => countIndexes([tableOf(text)], ledOf(text)).building === 1)

    const meanwhile = await statusOf(text)
    text.fields.isOutOfReach = false
    await until(async () => countIndexes([tableOf(text)], ledOf(text)).building === 0)
    const afterwards = await statusOf(text)

    expect(meanwhile.health).to.equal('degraded')
    expect(meanwhile.message).to.equal(
      'text index "words" of table "books" is being built on 1 of 1 shards; ' +
        'searches are refused meanwhile',
    )
    expect(afterwards).to.include({ health: 'healthy', message: 'all shards serve' })
  })

  it('is logged for an index that takes long to open, because searches are refused', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    await text.write(textOp('a', 'tide'))
    await text.close()
    const loading = Promise.withResolvers<void>()
    text.fields.loading = loading.promise
    await text.open()

    const atFirst = countIndexes([tableOf(text)], ledOf(text))
    await until(async () => countIndexes([tableOf(text)], ledOf(text)).refusing === 1)
    const meanwhile = await statusOf(text)
    loading.resolve()
    await until(async () => countIndexes([tableOf(text)], ledOf(text)).refusing === 0)

    expect(atFirst).to.include({ building: 0, refusing: 0 })
    expect(meanwhile.health).to.equal('degraded')
    expect(await text.find('tide')).to.deep.equal(['a'])
  })

  it('is counted, and so is its failure', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    await text.write(textOp('a', 'tide'))
    await text.close()
    await text.open()
    await text.find('tide')
    const { firstBuilds, rebuilds, failures } = text.events
    await text.pool.killThreads()
    await until(async () => text.events.failures > 0)
    await text.find('tide')

    expect([firstBuilds, rebuilds, failures]).to.deep.equal([1, 0, 0])
    expect(text.events.failures).to.equal(1)
  })

  it('is logged with its reason when the files are lost', async () => {
    const log = new LogOfBuilds()
    await using text = await TextShard.open({ log })
    await text.find('nothing')
    await text.write(textOp('a', 'tide'))
    await text.caughtUp()
    await text.close()
    await rm(text.indexRoot, { recursive: true })

    await text.open()
    await until(async () => log.lines.length === 2)

    expect(log.messages).to.deep.equal(['text index is being built', 'text index is built'])
  })

  it('is not needed for an index that only lacks the newest entries: it refuses until it has them, and the log reports that it catches up', async () => {
    const log = new LogOfBuilds()
    await using text = await TextShard.open({ log })
    await text.find('nothing') // so that it is open before there is anything to build
    await text.write(textOp('a', 'tide'))
    await text.caughtUp()
    await text.close()
    await text.open({ hasIndexes: false })
    await text.write(textOp('b', 'drift', { height: 3 }))
    await text.close()
    text.fields.isOutOfReach = true
    await text.open()
    await until(async () => countIndexes([tableOf(text)], ledOf(text)).catchingUp === 1)

    const { entriesBehindMax } = countIndexes([tableOf(text)], ledOf(text))
    const meanwhile = await statusOf(text)
    text.fields.isOutOfReach = false
    await until(async () => log.lines.length === 2)

    expect(entriesBehindMax).to.be.above(0)
    expect(meanwhile.health).to.equal('degraded')
    expect(meanwhile.message).to.include('is catching up after a restart on 1 of 1 shards')
    expect(log.messages).to.deep.equal(['text index is catching up', 'text index has caught up'])
    expect(countIndexes([tableOf(text)], ledOf(text))).to.include({
      catchingUp: 0,
      entriesBehindMax: 0,
    })
  })
})
