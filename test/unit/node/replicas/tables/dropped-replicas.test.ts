import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import type { NodeState } from '../../../../../node/controller/core/records/node-record.ts'
import type { MapHealth } from '../../../../../node/cluster/cluster-map.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { DroppedReplicas } from '../../../../../node/replicas/tables/dropped-replicas.ts'
import {
  putCleared,
  putTombstone,
  TOMBSTONE_PREFIX,
} from '../../../../../node/catalog/records/table-tombstone.ts'
import { parseShardId, type ShardId } from '../../../../../node/shard/shard-id.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { passTime } from '../../../../support/worlds/pass-time.ts'

const DROPPED = parseShardId('00000000000000d1')
const UNKNOWN = parseShardId('00000000000000a1')
const SERVED = parseShardId('00000000000000b1')
const AWAY = { zone: '', registration: undefined, addresses: undefined, liveRevision: 0 }

describe('DroppedReplicas', () => {
  let clock: ManualClock
  let coordination: EmbeddedCoordination
  let onDisk: Set<ShardId>
  let states: Map<string, NodeState>
  let health: 'current' | 'frozen'
  let failures: number
  const opened: DroppedReplicas[] = []
  beforeEach(() => {
    clock = new ManualClock()
    coordination = new EmbeddedCoordination(new MemoryKvStore(), clock)
    onDisk = new Set([DROPPED, UNKNOWN, SERVED])
    states = new Map([
      ['n1', 'serving'],
      ['n2', 'serving'],
    ])
    health = 'current'
    failures = 0
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await coordination.close()
  })

  function open(): DroppedReplicas {
    const dropped = new DroppedReplicas({
      self: 'n1',
      coordination,
      map: {
        get health(): MapHealth {
          return health === 'current'
            ? { kind: 'current' }
            : { kind: 'frozen', reason: 'it went back' }
        },
        nodes: () => [...states].map(([id, state]) => ({ ...AWAY, id, state })),
        controller: () => 'n1',
        pathOf: () => undefined,
      },
      host: {
        has: (id) => onDisk.has(id),
        get unopened() {
          return [...onDisk].filter((id) => id !== SERVED)
        },
      },
      tables: {
        isKnown: (id) => id === SERVED,
        collect: async (id) => {
          onDisk.delete(id)
          failures -= 1
          if (failures >= 0) throw new Error('the disk refuses')
        },
      },
      clock,
      log: silentLog,
    })
    dropped.start()
    opened.push(dropped)
    return dropped
  }

  async function drop(): Promise<void> {
    await coordination.commit({ when: [], changes: [putTombstone('t1', [DROPPED])] })
  }

  async function otherClears(): Promise<void> {
    const { revision } = await coordination.list('/')
    await coordination.commit({ when: [], changes: [putCleared('n2', revision)] })
  }

  async function tombstones(): Promise<number> {
    return (await coordination.list(TOMBSTONE_PREFIX)).entries.length
  }

  it('removes what a tombstone names, and keeps what the catalog alone does not know', async () => {
    await drop()

    const dropped = open()
    await passTime(clock, 3000)

    expect([...onDisk]).to.deep.equal([UNKNOWN, SERVED])
    expect(dropped.leftovers).to.deep.equal([UNKNOWN])
  })

  it('keeps a tombstone until every node has cleared it', async () => {
    await drop()
    open()
    await passTime(clock, 3000)
    const before = await tombstones()

    await otherClears()
    await passTime(clock, 3000)

    expect(before).to.equal(1)
    expect(await tombstones()).to.equal(0)
  })

  it('keeps the tombstone of a later drop although a node cleared an earlier one', async () => {
    await drop()
    await otherClears()
    await coordination.commit({ when: [], changes: [putTombstone('t2', [UNKNOWN])] })

    open()
    await passTime(clock, 3000)

    const left = (await coordination.list(TOMBSTONE_PREFIX)).entries.map(({ key }) => key)
    expect(left).to.deep.equal([`${TOMBSTONE_PREFIX}t2`])
    expect([...onDisk]).to.deep.equal([SERVED])
  })

  it('waits for no node that is decommissioned', async () => {
    states.set('n2', 'decommissioned')
    await drop()

    open()
    await passTime(clock, 3000)

    expect(await tombstones()).to.equal(0)
  })

  it('does not clear what it could not remove, and tries again', async () => {
    failures = 1
    await drop()
    await otherClears()
    open()
    await passTime(clock, 1000)
    const before = await tombstones()

    await passTime(clock, 4000)

    expect(before).to.equal(1)
    expect(failures).to.be.below(0)
    expect(await tombstones()).to.equal(0)
  })

  it('removes nothing while the control plane has gone back', async () => {
    health = 'frozen'
    await drop()

    open()
    await passTime(clock, 5000)

    expect(onDisk.has(DROPPED)).to.equal(true)
  })

  it('removes a leftover that a person names, and answers that it was there', async () => {
    const dropped = open()
    await passTime(clock, 100)

    const removed = await dropped.collect([UNKNOWN])
    const again = await dropped.collect([UNKNOWN])

    expect([removed, again]).to.deep.equal([[UNKNOWN], []])
    expect(onDisk.has(UNKNOWN)).to.equal(false)
  })

  for (const prefix of ['/table-shards/', '/cluster/shards/']) {
    it(`removes nothing of what ${prefix} knows, although this node has not heard of it`, async () => {
      const dropped = open()
      await passTime(clock, 100)
      const key = `${prefix}t9/${UNKNOWN}`
      await coordination.commit({
        when: [],
        changes: [{ type: 'put', key, value: Buffer.from('{}') }],
      })

      const refusal = await errorOf(() => dropped.collect([DROPPED, UNKNOWN]))

      expect(refusal).to.include({ code: 'CONFLICT' })
      expect([...onDisk]).to.deep.equal([DROPPED, UNKNOWN, SERVED])
    })
  }

  it('removes nothing for a person while the control plane has gone back, or before it was read', async () => {
    const early = await errorOf(() => open().collect([UNKNOWN]))
    health = 'frozen'
    const dropped = open()
    await passTime(clock, 100)

    const late = await errorOf(() => dropped.collect([UNKNOWN]))

    expect([early, late].map((error) => Reflect.get(Object(error), 'code'))).to.deep.equal([
      'UNAVAILABLE',
      'UNAVAILABLE',
    ])
    expect(onDisk.has(UNKNOWN)).to.equal(true)
  })

  it('writes nothing while there is no tombstone', async () => {
    open()

    await passTime(clock, 10_000)

    expect((await coordination.list('/')).revision).to.equal(0)
  })
})
