// The thread of lease-thread.ts. It has connections of its own, because those of the main loop stand still with it.

import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../../lib/assert.ts'
import { systemClock, threadOffsetMs } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { credentialsAt, membersAt } from '../../../lib/etcd/etcd-endpoints.ts'
import { KeptLease, type LeaseHome } from '../kept-lease.ts'
import type { LeaseId } from '../lease.ts'
import { sharedRecord } from '../renewal-record.ts'
import { renewLease } from './etcd-leases.ts'
import { EtcdMembers } from './etcd-members.ts'
import type { LeaseLoss, LeaseOrder, LeaseThreadSetup } from './lease-thread.ts'

/** LT1: an older beat is that of a loop that hangs. */
const BEAT_SHARE = 0.2

const setup: LeaseThreadSetup = workerData
keepLeases(setup)

function keepLeases({ connection, beats }: LeaseThreadSetup): void {
  const port = must(parentPort, 'the port to the main thread')
  const clock = systemClock
  const offsetMs = threadOffsetMs()
  const members = new EtcdMembers({
    members: membersAt(connection),
    user: connection.user,
    timing: connection.timing,
    clock,
    random: Math.random,
    closing: new AbortController().signal,
  })
  const beatAgeMs = (): number => clock.monotonicMs() + offsetMs - Number(Atomics.load(beats, 0))
  const leases = new Map<LeaseId, KeptLease>()

  const keep = (order: Extract<LeaseOrder, { kind: 'keep' }>): void => {
    const { id, ttlSeconds, cells } = order
    const home: LeaseHome = {
      renew: async (lease, wait) => {
        if (beatAgeMs() > ttlSeconds * 1000 * BEAT_SHARE) throw new Error('the main loop hangs')
        return renewLease(members, lease, wait)
      },
      revoke: async () => undefined, // the main thread does that
    }
    const grantedAt = {
      monotonicMs: order.grantedMs - offsetMs,
      uptimeMs: order.grantedUptimeMs,
    }
    const record = sharedRecord(cells, offsetMs)
    const lease = new KeptLease({ id, ttlSeconds, grantedAt, clock, home, record })
    leases.set(id, lease)
    const onLost = (): void => {
      leases.delete(id)
      const loss: LeaseLoss = { id, why: messageOf(lease.lost.reason) }
      port.postMessage(loss)
    }
    lease.lost.addEventListener('abort', onLost, { once: true })
  }

  port.on('message', (order: LeaseOrder) => {
    if (order.kind === 'keep') keep(order)
    else if (order.kind === 'renew') {
      members.renew(credentialsAt(order.connection), order.connection.user)
    } else leases.get(order.id)?.lose('its owner gave it up')
  })
}
