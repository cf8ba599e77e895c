// The time of a scan, where each node has a clock of its own.

import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { HybridClock, timestampAtMs } from '../../../../node/clock/hybrid-clock.ts'
import { ReadPins } from '../../../../node/reads/read-pins.ts'
import { scanTable } from '../../../../node/reads/table-scan.ts'
import type { Decision } from '../../../../node/shard/command/command.ts'
import type { KeyRange } from '../../../../node/shard/command/key-range.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { buildTransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { aheadBy } from '../../../support/worlds/ahead-clock.ts'
import { EVERYTHING, RemoteWorld, SHARD_ID } from '../../../support/worlds/remote-world.ts'
import { ReplicatedWorld } from '../../../support/worlds/replicated-world.ts'
import { routesTo } from '../../../support/worlds/routes.ts'
import { memoryBound, putOp, withMethods } from '../../../support/worlds/shard-world.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'

const AHEAD_MS = 300
const BELOW: KeyRange = { start: Buffer.alloc(0), end: Buffer.from('m') }
const ABOVE: KeyRange = { start: Buffer.from('m'), end: undefined }
const { signal } = new AbortController()

interface Opened {
  readonly shard: LocalShard
  readonly hybridClock: HybridClock
}

async function openShard(clock: ManualClock, range: KeyRange, aheadMs: number): Promise<Opened> {
  const hybridClock = await HybridClock.open(aheadBy(clock, aheadMs), memoryBound)
  const shard: LocalShard = await LocalShard.open({
    id: range === ABOVE ? SHARD_ID : parseShardId('0000000000000002'),
    range,
    store: new MemoryKvStore(),
    journal: await openTestJournal({ clock }),
    settings: NO_SETTINGS,
    router: routesTo(() => shard),
    hybridClock,
    clock,
  })
  return { shard, hybridClock }
}

interface Parts {
  readonly here: Opened
  readonly ahead: LocalShard
  readonly world: RemoteWorld
}

function write(shard: Shard, name: string) {
  return shard.write({ checks: [], ops: [putOp(name, 1)], ttl: undefined })
}

/** The upper half of a table is led by a node whose clock is ahead, the lower one by the node that scans. */
class SkewedTable implements AsyncDisposable {
  readonly clock: ManualClock
  readonly shards: readonly Shard[]
  readonly ahead: LocalShard
  readonly #here: Opened
  readonly #world: RemoteWorld

  private constructor(clock: ManualClock, { here, ahead, world }: Parts) {
    this.clock = clock
    this.#here = here
    this.#world = world
    this.ahead = ahead
    this.shards = [here.shard, world.remote(undefined, ABOVE)]
  }

  static async open(): Promise<SkewedTable> {
    const clock = new ManualClock()
    const here = await openShard(clock, BELOW, 0)
    const there = await openShard(clock, ABOVE, AHEAD_MS)
    const world = await RemoteWorld.open({ clock, hybridClock: here.hybridClock })
    const find = () => ({ kind: 'here', shard: there.shard, epoch: 1 }) as const
    await world.addNode('a', find, there.hybridClock)
    return new SkewedTable(clock, { here, ahead: there.shard, world })
  }

  scan(range: KeyRange): Promise<readonly string[]> {
    const pins = new ReadPins(this.clock, 'here')
    const pages = Array.fromAsync(scanTable(pins, { table: this, range, signal }))
    return this.#world.settled(pages.then((all) => all.flat().map(({ key }) => key.toString())))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world[Symbol.asyncDispose]()
    await this.ahead.close()
    await this.#here.shard.close()
  }
}

describe('a scan at a node whose clock is behind', () => {
  it('shows what another node has acknowledged before, over several shards', async () => {
    await using table = await SkewedTable.open()
    await write(table.ahead, 'z')

    expect(await table.scan(EVERYTHING)).to.deep.equal(['z'])
  })

  it('shows it if one shard of another node is covered', async () => {
    await using table = await SkewedTable.open()
    await write(table.ahead, 'z')

    expect(await table.scan(ABOVE)).to.deep.equal(['z'])
  })

  it('shows a transaction that another node has decided, and that is not resolved here', async () => {
    const late: { anchor?: Shard } = {}
    await using world = await ReplicatedWorld.open({ router: routesTo(() => late.anchor) })
    await world.until(() => world.node('n1').isServing)
    const { shard } = world.leader
    const commitTs = timestampAtMs(world.clock.nowMs() + AHEAD_MS)
    const decision: Decision = { state: 'committed', commitTs }
    late.anchor = withMethods(shard, { push: async () => decision })
    const transactionId = buildTransactionId(timestampAtMs(world.clock.nowMs()), '0123456789abcdef')
    const anchor = { tableId: 'other', key: Buffer.from('elsewhere') }
    const ops = [putOp('k', 1)]
    const command = { transactionId, anchor, begin: undefined, checks: [], ops, ttl: undefined }
    await world.when(shard.prepare(command))

    const pages = await world.when(shard.scan({ range: EVERYTHING, signal }))

    const rows = (await Array.fromAsync(pages)).flat()
    expect(rows.map(({ key }) => key.toString())).to.deep.equal(['k'])
  })
})
