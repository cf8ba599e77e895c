// A slow scan at a node that does not lead, and leaders that collect history as soon as nobody holds it.

import { expect } from 'chai'
import { ClusterShard } from '../../../../node/replicas/cluster-shard.ts'
import { FailedShard } from '../../../../node/replicas/tables/failed-shard.ts'
import { PIN_AFTER_MS, PIN_RENEW_MS, ReadPins } from '../../../../node/reads/read-pins.ts'
import { scanTable } from '../../../../node/reads/table-scan.ts'
import type { KeyRange } from '../../../../node/shard/command/key-range.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import { collectHistory } from '../../../../node/shard/housekeeping/history-collection.ts'
import type { ScanRow, Shard } from '../../../../node/shard/shard.ts'
import { errorOf } from '../../../support/error-of.ts'
import { ReplicatedWorld, SHARD } from '../../../support/worlds/replicated-world.ts'
import { putOp, ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'

const BELOW: KeyRange = { start: Buffer.alloc(0), end: Buffer.from('m') }
const ABOVE: KeyRange = { start: Buffer.from('m'), end: undefined }
const { signal } = new AbortController()

/** A table of two shards; the upper one has three replicas. */
class SlowScan implements AsyncDisposable {
  readonly world: ReplicatedWorld
  readonly pins: ReadPins
  readonly #below: ShardWorld
  readonly #above: Shard
  readonly #pages: AsyncIterator<ScanRow[]>

  private constructor(world: ReplicatedWorld, below: ShardWorld) {
    this.world = world
    this.pins = new ReadPins(world.clock, 'scanning')
    this.#below = below
    const remote = new FailedShard(SHARD, ABOVE, 'nobody leads')
    const leader = () => world.nodes.find(({ isServing }) => isServing)?.shard
    this.#above = new ClusterShard({ local: leader, remote })
    const lower = withMethods(below.shard('s'), { range: BELOW })
    const table = { shards: [lower, this.#above] }
    const range = { start: Buffer.alloc(0), end: undefined }
    this.#pages = scanTable(this.pins, { table, range, signal })
  }

  /** The scan has shown its first page, and what it shows next is overwritten. */
  static async begin(): Promise<SlowScan> {
    const world = await ReplicatedWorld.open({ range: ABOVE })
    await world.until(() => world.node('n1').isServing)
    const below = await ShardWorld.open(['s'], { clock: world.clock })
    const scan = new SlowScan(world, below)
    await below.shard('s').write({ checks: [], ops: [putOp('a', 0)], ttl: undefined })
    await scan.#write('z', 'as it was')
    expect(await scan.next()).to.deep.equal([0])
    await scan.#write('z', 'overwritten')
    await scan.#write('y', 'new')
    await scan.pass(PIN_AFTER_MS)
    await scan.pins.renew(signal)
    return scan
  }

  #write(name: string, value: string): Promise<unknown> {
    return this.world.when(
      this.#above.write({ checks: [], ops: [putOp(name, value)], ttl: undefined }),
    )
  }

  async next(): Promise<readonly unknown[]> {
    const page = await this.world.when(this.#pages.next())
    return page.value.map(({ record }: ScanRow) => JSON.parse(jsonOf(record).toString()).value)
  }

  async pass(ms: number): Promise<void> {
    const { clock } = this.world
    const endMs = clock.monotonicMs() + ms
    while (clock.monotonicMs() < endMs) await this.world.step()
  }

  /** The housekeeping of the leader, to which all history is old. */
  async collect(): Promise<void> {
    const { led } = this.world.leader.shard
    const aged = this.world.leader.shard.moment(ABOVE)
    await this.world.when(
      led.collecting(await aged, (horizon) => collectHistory(led, horizon, signal)),
    )
  }

  /** Renewals, and collections after each of them. */
  async live(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      await this.pass(PIN_RENEW_MS)
      await this.world.when(this.pins.renew(signal))
      await this.collect()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pages.return?.()
    await this.#below[Symbol.asyncDispose]()
    await this.world[Symbol.asyncDispose]()
  }
}

describe('a slow scan at a node that does not lead', () => {
  it('reads the past that the leader keeps for it', async () => {
    await using scan = await SlowScan.begin()
    await scan.live(8)

    expect(await scan.next()).to.deep.equal(['as it was'])
  })

  it('reads it from the next leader, which has not heard of the scan when it begins', async () => {
    await using scan = await SlowScan.begin()
    const { world } = scan
    await scan.live(5)
    await world.kill(world.node('n1'))
    world.control.elect(world.node('n2').replica)
    await world.until(() => world.node('n2').isServing)
    await scan.collect()
    await scan.live(8)

    expect(await scan.next()).to.deep.equal(['as it was'])
  })

  it('ends with HISTORY_GONE, not with fewer rows, once no leader heard of it for a lease', async () => {
    await using scan = await SlowScan.begin()
    const { world } = scan
    await scan.collect()
    await scan.pass(200_000)
    await scan.collect()

    expect(await errorOf(() => scan.next())).to.include({ code: 'HISTORY_GONE' })
    expect(world.leader.id).to.equal('n1')
  })
})
