// What a node remembers on its disk of the control plane, so that it refuses an older one after a restart.
// Format: docs/reference/formats/data-directory.md.

import { ServiceError } from '../../../lib/errors.ts'
import { isText, isWhole } from '../../../lib/json-record.ts'
import type { ShardPath } from '../../controller/core/records/cluster-codec.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import type { ShardConfiguration } from '../../replication/core/configuration.ts'
import {
  configurationIn,
  decodeStored,
  encodeStored,
  storedConfiguration,
} from './recovery-codec.ts'

const SEEN_KEY = '/control-plane/seen'
const SHARD_PREFIX = '/control-plane/shards/'

/** What is remembered of the control plane as a whole. */
interface Seen {
  /** The newest revision. */
  readonly revision: number
  /** The store's own id; empty: not known. */
  readonly store: string
  /** The greatest number of a recovery that this node has accepted. */
  readonly recovery: number
  /** The greatest incarnation with which this node has registered. */
  readonly registered: number
  /** Why the control plane is refused until it is recovered; empty: it is not. */
  readonly refusal: string
}

const NOTHING: Seen = { revision: 0, store: '', recovery: 0, registered: 0, refusal: '' }

/**
 * The newest of what a node has seen of the control plane.
 *
 * Contract:
 * - A method that changes something resolves when the change is on disk. Changes are made one after the other.
 * - `refuse` holds over restarts, until `accept` takes the control plane as it is now.
 */
export class ControlPlaneMemory {
  readonly #local: Coordination
  #seen: Seen
  #tail: Promise<unknown> = Promise.resolve()

  private constructor(local: Coordination, seen: Seen) {
    this.#local = local
    this.#seen = seen
  }

  /** Over the node's own store. A directory of an earlier version remembers nothing yet. */
  static async open(local: Coordination): Promise<ControlPlaneMemory> {
    const entry = await local.get(SEEN_KEY)
    return new ControlPlaneMemory(local, entry === undefined ? NOTHING : decodeSeen(entry.value))
  }

  get seen(): Seen {
    return this.#seen
  }

  async see(news: Partial<Omit<Seen, 'refusal'>>): Promise<void> {
    await this.#change((before) => ({
      ...before,
      ...news,
      revision: Math.max(before.revision, news.revision ?? 0),
      registered: Math.max(before.registered, news.registered ?? 0),
      recovery: Math.max(before.recovery, news.recovery ?? 0),
    }))
  }

  async refuse(reason: string): Promise<void> {
    await this.#change((before) => ({ ...before, refusal: before.refusal || reason }))
  }

  async accept(now: Pick<Seen, 'revision' | 'store' | 'recovery'>): Promise<void> {
    await this.#change(() => ({ ...now, registered: 0, refusal: '' }))
  }

  /** The configurations of shards that this node holds replicas of. */
  async configurations(): Promise<ReadonlyMap<ShardPath, ShardConfiguration>> {
    const { entries } = await this.#local.list(SHARD_PREFIX)
    return new Map(
      entries.map(({ key, value }) => {
        const stored = decodeStored(value, damaged)
        return [key.slice(SHARD_PREFIX.length), configurationIn(stored, damaged)]
      }),
    )
  }

  /** `undefined`: this node holds no replica of it any more. */
  async remember(path: ShardPath, configuration: ShardConfiguration | undefined): Promise<void> {
    const key = SHARD_PREFIX + path
    await this.#enqueue(async () => {
      const change =
        configuration === undefined
          ? ({ type: 'delete', key } as const)
          : ({ type: 'put', key, value: encodeStored(storedConfiguration(configuration)) } as const)
      await this.#local.commit({ when: [], changes: [change] })
    })
  }

  #change(edit: (before: Seen) => Seen): Promise<void> {
    return this.#enqueue(async () => {
      const next = edit(this.#seen)
      if (JSON.stringify(next) === JSON.stringify(this.#seen)) return
      const value = encodeStored(next)
      await this.#local.commit({ when: [], changes: [{ type: 'put', key: SEEN_KEY, value }] })
      this.#seen = next
    })
  }

  async #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(work)
    this.#tail = done.catch(() => undefined) // the caller gets the error; the next change runs
    await done
  }
}

function decodeSeen(bytes: Buffer): Seen {
  const { revision, store, recovery, registered, refusal } = decodeStored(bytes, damaged)
  if (!isWhole(revision) || !isWhole(recovery) || !isWhole(registered)) throw damaged()
  if (!isText(store) || !isText(refusal)) throw damaged()
  return { revision, store, recovery, registered, refusal }
}

function damaged(): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    'what this node remembers of the control plane is damaged; start it over an empty data directory',
  )
}
