import type { LedShard } from '../../shard/led-shard.ts'
import type { Shard } from '../../shard/shard.ts'
import type { ShardId } from '../../shard/shard-id.ts'

/** The shards that this node leads. Housekeeping, recovery and metrics concern only these. */
export class LedShards {
  readonly #byId = new Map<ShardId, LedShard>()
  readonly #listeners = new Set<() => void>()

  add(led: LedShard): void {
    this.#byId.set(led.id, led)
    this.#changed()
  }

  remove(id: ShardId): void {
    if (this.#byId.delete(id)) this.#changed()
  }

  /** Calls `listener` after each change; it must be cheap. Returns its removal. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }

  find({ id }: Pick<Shard, 'id'>): LedShard | undefined {
    return this.#byId.get(id)
  }

  /** A copy: shards that are added or removed later do not change it. */
  all(): readonly LedShard[] {
    return [...this.#byId.values()]
  }

  /** The given shards that this node leads. */
  among(shards: readonly Shard[]): readonly LedShard[] {
    return shards.flatMap((shard) => this.find(shard) ?? [])
  }
}
