import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { LocalShard } from '../../../../../node/shard/local-shard.ts'
import { NO_SETTINGS } from '../../../../../node/shard/command/table-settings.ts'
import { HybridClock } from '../../../../../node/clock/hybrid-clock.ts'
import { ClusterShard } from '../../../../../node/replicas/cluster-shard.ts'
import type { Shard } from '../../../../../node/shard/shard.ts'
import { describeShard } from '../../../../conformance/shard.ts'
import type { ShardParts, ShardUnderTest } from '../../../../conformance/shard.ts'
import { RemoteWorld, SHARD_ID } from '../../../../support/worlds/remote-world.ts'
import { memoryBound } from '../../../../support/worlds/shard-world.ts'
import { openTestJournal } from '../../../../support/worlds/test-journal.ts'

/** A shard that another node leads, whose hybrid clock is another one too. */
async function openRemote(
  parts: ShardParts,
  network: 'memory' | 'tcp',
  wrap: (remote: Shard) => Shard = (remote) => remote,
): Promise<ShardUnderTest> {
  const { clock, router, range } = parts
  const hybridClock = await HybridClock.open(clock, memoryBound)
  const local = await LocalShard.open({
    id: SHARD_ID,
    range,
    store: new MemoryKvStore(),
    journal: await openTestJournal(),
    settings: NO_SETTINGS,
    hybridClock,
    clock,
    router,
  })
  const world = await RemoteWorld.open({ ...parts, network })
  await world.addNode('leader', () => ({ kind: 'here', shard: local, epoch: 1 }), hybridClock)
  return {
    shard: wrap(world.remote(undefined, range)),
    led: local.led,
    [Symbol.asyncDispose]: async () => {
      await world[Symbol.asyncDispose]()
      await local.close()
    },
  }
}

describeShard('RemoteShard over a network in memory', (parts) => openRemote(parts, 'memory'))
describeShard('RemoteShard over TCP', (parts) => openRemote(parts, 'tcp'))
describeShard('ClusterShard whose node follows', (parts) =>
  openRemote(parts, 'memory', (remote) => new ClusterShard({ local: () => undefined, remote })),
)
