import type { LocalShard } from '../../../node/shard/local-shard.ts'
import { timestampOf } from '../../../node/clock/hybrid-clock.ts'
import type { IndexStatus } from '../../../node/shard/following/index-health.ts'
import type { ShardReplica } from '../../../node/shard/shard-replica.ts'
import type { Shard } from '../../../node/shard/shard.ts'

export type ShardMethod = Exclude<keyof Shard, 'id' | 'range' | 'durableOrder'>

export const INDEX_STATUS: IndexStatus = {
  totalIndexed: 3,
  diskUsage: 4096,
  rebuilding: true,
  backfillProgress: 0.5,
  backfillItemsProcessed: 2,
  error: 'slow',
  documentsSetAside: 1,
  dropped: { badValues: 1, overLimit: 2, fields: { 'a.b': { badValues: 1, overLimit: 0 } } },
  enrichment: {
    pending: 5,
    enriched: 6,
    parked: 7,
    retrying: 2,
    error: 'away',
    progress: 0.25,
    rebuilding: true,
    parkedDocuments: [{ key: Buffer.from('k'), attempts: 10, error: 'no' }],
  },
  behind: { waiting: 5, parked: 7, setAside: 1 },
}

/** Where the index of every watched shard is. */
export const POSITION = { version: 2, sequence: 9, behind: 4 }

export const STATISTICS = {
  fields: new Map([['title', { docCount: 2, totalLength: NaN }]]),
  docFreqs: new Map([['title\0fox', 1]]),
  expansions: new Map(),
}

/** The closed time of every watched shard. */
export const CLOSED_AT = timestampOf(7n)

async function* emptyPages(): AsyncGenerator<never> {}

/** A local shard with an index of fixed answers, whose calls a test sees, holds back and refuses. */
export class WatchedShard {
  readonly calls: string[] = []
  /** Comes before each call. What it throws is the shard's answer. */
  before: (signal: AbortSignal | undefined) => Promise<void> = async () => undefined
  readonly shard: Shard & ShardReplica
  /** What `searchFrom` says of its answer. */
  readonly placed = { shownThrough: POSITION.sequence + 2 }

  constructor(local: LocalShard) {
    const replaced: Partial<Record<string, unknown>> = {
      search: async () => STATISTICS,
      indexPosition: async () => POSITION,
      indexStatus: async () => INDEX_STATUS,
      waitForIndexes: async () => undefined,
      closedTime: async () => CLOSED_AT,
      readAt: async () => ({ at: CLOSED_AT, record: undefined }),
      scanAt: async () => emptyPages(),
      searchHere: async () => STATISTICS,
      searchFrom: async () => ({ answer: STATISTICS, ...this.placed }),
    }
    this.shard = new Proxy<Shard & ShardReplica>(local, {
      get: (target, name) => {
        const member: unknown = replaced[String(name)] ?? Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...args: readonly unknown[]) =>
          this.#call(String(name), args, () => member.apply(target, args))
      },
    })
  }

  /** A held call waits for the end of its caller. */
  hold(): void {
    this.before = (signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
  }

  release(): void {
    this.before = async () => undefined
  }

  #call(method: string, args: readonly unknown[], answer: () => unknown): unknown {
    this.calls.push(method)
    if (method === 'hurry') return answer()
    return this.before(signalIn(args)).then(answer)
  }
}

function signalIn(args: readonly unknown[]): AbortSignal | undefined {
  for (const arg of args) {
    const signal: unknown = typeof arg === 'object' && arg !== null && Reflect.get(arg, 'signal')
    if (signal instanceof AbortSignal) return signal
  }
  return undefined
}
