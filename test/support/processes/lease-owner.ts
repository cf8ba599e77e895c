// A process that holds a lease with the key `/owner`, and blocks its event loop when it is told to:
//   lease-owner.ts <endpoint> <ttlSeconds>
// It says `held` when the lease was renewed. For each line on its input, a number of ms, it blocks, and says
// whether it holds the lease: `true` or `false`.

import { createInterface } from 'node:readline'
import { systemClock } from '../../../lib/clock.ts'
import { openEtcdCoordination } from '../../../node/coordination/etcd/open-etcd-coordination.ts'

const [endpoint = '', ttl = ''] = process.argv.slice(2)
const store = await openEtcdCoordination({
  endpoints: [endpoint],
  cluster: 'blocked',
  owner: 'owner',
  leaseThread: true,
  clock: systemClock,
  random: Math.random,
})
const lease = await store.grantLease(Number(ttl))
const value = Buffer.from('alive')
await store.commit({
  when: [],
  changes: [{ type: 'put', key: '/owner', value, lease: lease.id }],
})
const grantedUntilMs = lease.heldUntilMs
while (lease.heldUntilMs === grantedUntilMs) await systemClock.sleep(20)
process.stdout.write('held\n')
for await (const line of createInterface({ input: process.stdin })) {
  const untilMs = performance.now() + Number(line)
  while (performance.now() < untilMs) Math.sqrt(untilMs)
  process.stdout.write(`${lease.isHeld()}\n`)
}
await store.close()
