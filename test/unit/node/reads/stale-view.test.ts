import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { HybridClock } from '../../../../node/clock/hybrid-clock.ts'
import { StaleView } from '../../../../node/reads/stale-reads.ts'
import type { KeyRange } from '../../../../node/shard/command/key-range.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { LocalShard } from '../../../../node/shard/local-shard.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import type { ShardReplica } from '../../../../node/shard/shard-replica.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { routesTo } from '../../../support/worlds/routes.ts'
import { memoryBound, putOp } from '../../../support/worlds/shard-world.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'

const { signal } = new AbortController()
const EVERYTHING: KeyRange = { start: Buffer.alloc(0), end: undefined }
const KEYS = ['a', 'b', 'm', 'x', 'z']

/** Shards of the keys below "m" and from there on; `scanned` has each range that a replica walked. */
async function openView() {
  const clock = new ManualClock()
  const hybridClock = await HybridClock.open(clock, memoryBound)
  const scanned: string[] = []
  const open = async (name: string, range: KeyRange): Promise<LocalShard> => {
    const shard: LocalShard = await LocalShard.open({
      id: parseShardId(name.padStart(16, '0')),
      range,
      store: new MemoryKvStore(),
      journal: await openTestJournal({ clock }),
      settings: NO_SETTINGS,
      router: routesTo(() => shard),
      hybridClock,
      clock,
    })
    return shard
  }
  const middle = Buffer.from('m')
  const shards = [
    await open('1', { start: Buffer.alloc(0), end: middle }),
    await open('2', { start: middle, end: undefined }),
  ]
  for (const key of KEYS) {
    const shard = shards[key < 'm' ? 0 : 1]
    await shard?.write({ checks: [], ops: [putOp(key, 1)], ttl: undefined })
  }
  const at = hybridClock.now()
  const chosen = shards.map((shard) => ({ shard, replicas: [away(), watched(shard, scanned)] }))
  return { view: new StaleView(at, chosen), scanned }
}

function watched(shard: LocalShard, scanned: string[]): ShardReplica {
  return {
    closedTime: async (options) => shard.moment(EVERYTHING, options),
    readAt: (key, options) => shard.readAt(key, options),
    scanAt: (options) => {
      const { start, end } = options.range
      scanned.push(`${start.toString()}..${end?.toString('latin1') ?? ''}`)
      return shard.scan(options)
    },
    searchHere: (...given) => shard.searchHere(...given),
    searchFrom: (...given) => shard.searchFrom(...given),
  }
}

const refuse = (): Promise<never> => Promise.reject(new ServiceError('UNAVAILABLE', 'away'))

/** Its node is gone. */
function away(): ShardReplica {
  return {
    closedTime: refuse,
    readAt: refuse,
    scanAt: refuse,
    searchHere: refuse,
    searchFrom: refuse,
  }
}

describe('a stale view of a table', () => {
  it('looks up the keys that are wanted, and walks nothing', async () => {
    const { view, scanned } = await openView()
    const keys = ['z', 'nobody', 'a', 'z'].map((key) => Buffer.from(key))

    const pages = await Array.fromAsync(view.scan({ range: EVERYTHING, keys, signal }))

    expect(pages.flat().map(({ key }) => key.toString())).to.deep.equal(['a', 'z'])
    expect(scanned).to.deep.equal(['a..a\0', 'nobody..nobody\0', 'z..z\0'])
  })

  it('looks up only keys within the range', async () => {
    const { view } = await openView()
    const keys = KEYS.map((key) => Buffer.from(key))
    const range = { start: Buffer.from('b'), end: Buffer.from('x') }

    const pages = await Array.fromAsync(view.scan({ range, keys, signal }))

    expect(pages.flat().map(({ key }) => key.toString())).to.deep.equal(['b', 'm'])
  })

  it('walks the range where keys are not named', async () => {
    const { view, scanned } = await openView()

    const pages = await Array.fromAsync(view.scan({ range: EVERYTHING, signal }))

    expect(pages.flat().map(({ key }) => key.toString())).to.deep.equal(KEYS)
    expect(scanned).to.have.length(2)
  })
})
