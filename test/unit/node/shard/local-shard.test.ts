import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { LocalShard } from '../../../../node/shard/local-shard.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import type { KvStore } from '../../../../node/storage/kv-store.ts'
import { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'
import { putOp, ShardWorld } from '../../../support/worlds/shard-world.ts'
import { describeShard, type ShardParts } from '../../../conformance/shard.ts'

async function openShard(store: KvStore, parts: ShardParts): Promise<LocalShard> {
  const id = parseShardId('0000000000000001')
  const journal = await openTestJournal()
  return LocalShard.open({ id, store, journal, settings: NO_SETTINGS, ...parts })
}

describeShard('LocalShard in memory', async (parts) => {
  const shard = await openShard(new MemoryKvStore(), parts)
  return { shard, led: shard.led, [Symbol.asyncDispose]: () => shard.close() }
})

describeShard('LocalShard on LevelDB', async (parts) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-shard-'))
  const shard = await openShard(await LevelKvStore.open(directory, { clock: systemClock }), parts)
  return {
    shard,
    led: shard.led,
    [Symbol.asyncDispose]: async () => {
      await shard.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
})

describe('LocalShard', () => {
  it('answers a read without a promise while no transaction holds the key', async () => {
    await using world = await ShardWorld.open(['a'])
    const shard = world.shard('a')
    await shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined })
    const signal = AbortSignal.abort(new RangeError('gone'))

    expect(shard.read(Buffer.from('k'), { signal })).to.not.be.instanceOf(Promise)
  })
})
