import { ManualClock } from '../../../lib/clock.ts'
import { HybridClock } from '../../../node/clock/hybrid-clock.ts'
import { LocalShard } from '../../../node/shard/local-shard.ts'
import { NO_SETTINGS } from '../../../node/shard/command/table-settings.ts'
import type { NotHere, ShardHere } from '../../../node/shard/remote/served-shards.ts'
import { serveReplicas, serveShards } from '../../../node/shard/remote/serve-shards.ts'
import type { ShardReplica } from '../../../node/shard/shard-replica.ts'
import type { Shard } from '../../../node/shard/shard.ts'
import type { RemoteShard } from '../../../node/shard/remote/remote-shard.ts'
import { MemoryKvStore } from '../../../node/storage/memory-kv-store.ts'
import { WatchedShard } from '../fakes/watched-shard.ts'
import { EVERYTHING, RemoteWorld, SHARD_ID } from './remote-world.ts'
import { routesTo } from './routes.ts'
import { memoryBound } from './shard-world.ts'
import { openTestJournal } from './test-journal.ts'

/** The deadline of calls of `remote`. */
export const TIMEOUT_MS = 3000

interface Parts {
  readonly clock: ManualClock
  readonly hybridClock: HybridClock
  readonly local: LocalShard
  readonly world: RemoteWorld
}

/** A caller, and the nodes `a` and `b`. Both have the same shard, so that either may answer for it. */
export class RemoteBench implements AsyncDisposable {
  readonly world: RemoteWorld
  readonly watched: WatchedShard
  readonly remote: RemoteShard
  readonly clock: ManualClock
  readonly hybridClock: HybridClock
  readonly local: LocalShard
  /** What each node says of the shard. */
  readonly found: Record<'a' | 'b', ShardHere<Shard & ShardReplica> | NotHere>

  private constructor({ clock, hybridClock, local, world }: Parts) {
    this.world = world
    this.clock = clock
    this.hybridClock = hybridClock
    this.local = local
    this.watched = new WatchedShard(local)
    this.remote = world.remote(TIMEOUT_MS)
    const { shard } = this.watched
    this.found = { a: { kind: 'here', shard, epoch: 1 }, b: { kind: 'here', shard, epoch: 2 } }
  }

  static async open(): Promise<RemoteBench> {
    const clock = new ManualClock()
    const hybridClock = await HybridClock.open(clock, memoryBound)
    const local: LocalShard = await LocalShard.open({
      id: SHARD_ID,
      range: EVERYTHING,
      store: new MemoryKvStore(),
      journal: await openTestJournal({ clock }),
      settings: NO_SETTINGS,
      router: routesTo(() => local),
      hybridClock,
      clock,
    })
    const world = await RemoteWorld.open({ clock, hybridClock })
    const bench = new RemoteBench({ clock, hybridClock, local, world })
    for (const node of ['a', 'b'] as const) {
      const serving = { find: () => bench.found[node], hybridClock, clock }
      const handlers = [...serveShards(serving), ...serveReplicas(serving)]
      await world.addHandlers(node, new Map(handlers))
    }
    return bench
  }

  /** The outcome of a call, while time passes. */
  async outcome(call: Promise<unknown>): Promise<{ value: unknown } | { error: unknown }> {
    try {
      return { value: await this.world.settled(call) }
    } catch (error) {
      return { error }
    }
  }

  /** Connects both lanes to the node, so that a fault finds connections. */
  async connect(): Promise<void> {
    await this.world.settled(this.remote.stats())
    await this.world.settled(this.scan(new AbortController().signal))
    this.watched.calls.length = 0
  }

  /** The keys of a scan over everything. */
  async scan(signal: AbortSignal): Promise<readonly string[]> {
    const at = this.hybridClock.readPoint()
    const pages = await Array.fromAsync(await this.remote.scan({ range: EVERYTHING, at, signal }))
    return pages.flat().map((row) => row.key.toString())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
    await this.local.close()
  }
}
