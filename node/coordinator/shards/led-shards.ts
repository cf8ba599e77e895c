import type { LedShard } from '../../shard/led-shard.ts'
import type { Shard } from '../../shard/shard.ts'
import type { ShardId } from '../../shard/shard-id.ts'

/** The shards that this node leads. Housekeeping, recovery and metrics concern only these. */
export class LedShards {
  readonly #byId = new Map<ShardId, LedShard>()

  add(led: LedShard): void {
    this.#byId.set(led.id, led)
  }

  remove(id: ShardId): void {
    this.#byId.delete(id)
  }

  find({ id }: Pick<Shard, 'id'>): LedShard | undefined {
    return this.#byId.get(id)
  }

  /** A copy: shards that are added or removed later do not change it. */
  all(): readonly LedShard[] {
    return [...this.#byId.values()]
  }

  /** Those of the given shards that are led here. */
  among(shards: readonly Shard[]): readonly LedShard[] {
    return shards.flatMap((shard) => this.find(shard) ?? [])
  }
}
