// Leases that a thread of its own renews, so that a long turn of the main loop does not lose them.
//
// Invariants:
//   LT1  The thread renews only while the main loop moves: its last beat is younger than a fifth of the TTL. So a
//        loop that hangs loses its leases after a TTL, and a shorter pause than 0.8 of it costs none.
//   LT2  What this thread knows of a renewal lies in shared memory, and is right at the end of a long turn.

import { Worker } from 'node:worker_threads'
import { threadOffsetMs, type Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { KeptLease, type KeptLeaseOptions } from '../kept-lease.ts'
import type { LeaseId } from '../lease.ts'
import { newRenewalCells, sharedRecord } from '../renewal-record.ts'
import type { EtcdConnection } from './etcd-connection.ts'

const BEAT_MS = 100

/** What the thread begins with. */
export interface LeaseThreadSetup {
  readonly connection: EtcdConnection
  /** One cell: the last beat of the main loop, in ms of the process. */
  readonly beats: BigInt64Array
}

/** What the thread is told. Times are of the process. */
export type LeaseOrder =
  | {
      readonly kind: 'keep'
      readonly id: LeaseId
      readonly ttlSeconds: number
      readonly grantedMs: number
      readonly grantedUptimeMs: number
      readonly cells: BigInt64Array
    }
  | { readonly kind: 'release'; readonly id: LeaseId }
  | { readonly kind: 'renew'; readonly connection: EtcdConnection }

/** What the thread says of a lease that it has lost. */
export interface LeaseLoss {
  readonly id: LeaseId
  readonly why: string
}

/** What a lease is made of, without who renews it. */
export type GrantedLease = Omit<KeptLeaseOptions, 'renewedElsewhere' | 'record'>

/** The thread that renews the leases of one store. It starts at once, because that takes a second on a busy machine. */
export class LeaseThread {
  #connection: EtcdConnection
  readonly #clock: Clock
  readonly #beats = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
  readonly #leases = new Map<LeaseId, KeptLease>()
  readonly #offsetMs = threadOffsetMs()
  #worker: Worker | undefined
  #stopBeats: () => Promise<void> = async () => undefined

  constructor(connection: EtcdConnection, clock: Clock) {
    this.#connection = connection
    this.#clock = clock
    this.#worker = this.#start()
  }

  keep(granted: GrantedLease): KeptLease {
    const { id, ttlSeconds, grantedAt } = granted
    const cells = newRenewalCells()
    const renewedElsewhere = sharedRecord(cells, this.#offsetMs)
    const lease = new KeptLease({ ...granted, renewedElsewhere })
    this.#leases.set(id, lease)
    const grantedMs = grantedAt.monotonicMs + this.#offsetMs
    const grantedUptimeMs = grantedAt.uptimeMs
    this.#tell({ kind: 'keep', id, ttlSeconds, grantedMs, grantedUptimeMs, cells })
    lease.lost.addEventListener('abort', () => this.#release(id), { once: true })
    return lease
  }

  /** Later renewals go by this connection. */
  renew(connection: EtcdConnection): void {
    this.#connection = connection
    this.#worker?.postMessage({ kind: 'renew', connection } satisfies LeaseOrder)
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await this.#stopBeats()
    await worker?.terminate()
    this.#loseAll('its store is closed')
  }

  #release(id: LeaseId): void {
    if (this.#leases.delete(id)) this.#worker?.postMessage({ kind: 'release', id })
  }

  #tell(order: LeaseOrder): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(order, [])
  }

  #start(): Worker {
    this.#beat()
    this.#stopBeats = this.#clock.every(BEAT_MS, async () => this.#beat())
    const workerData: LeaseThreadSetup = { connection: this.#connection, beats: this.#beats }
    const entry = new URL('lease-thread-worker.ts', import.meta.url)
    const worker = new Worker(entry, { name: 'leases', workerData })
    worker.unref()
    worker.on('message', ({ id, why }: LeaseLoss) => this.#leases.get(id)?.lose(why))
    worker.on('error', (error) => this.#ended(worker, messageOf(error)))
    worker.on('exit', () => this.#ended(worker, 'it ended'))
    return worker
  }

  /** The next lease gets a new thread. */
  #ended(worker: Worker, why: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    void this.#stopBeats()
    this.#loseAll(`the thread that renews it failed: ${why}`)
  }

  #loseAll(why: string): void {
    for (const lease of this.#leases.values()) lease.lose(why)
    this.#leases.clear()
  }

  #beat(): void {
    const nowMs = this.#clock.monotonicMs() + this.#offsetMs
    Atomics.store(this.#beats, 0, BigInt(Math.floor(nowMs)))
  }
}
