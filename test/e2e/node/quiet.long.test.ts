// A cluster that is as its spec says: its operator writes nothing, by the API server's own record.

import { setTimeout as passes } from 'node:timers/promises'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { AuditLog, describeEvent, isBy, isWrite } from '../support/audit-log.ts'
import { OPERATOR } from '../support/installed-operator.ts'
import { print, useLoadedCluster } from '../support/loaded-cluster.ts'
import { useNamespace } from '../support/test-namespace.ts'

const QUIET_MS = 600_000
/** What the load has made, as the replicas of its table, comes into the status with the next look at the store. */
const WINDOWS_MAX = 3

describe('an operator that has nothing to do', function () {
  this.timeout(2_400_000)

  const namespace = useNamespace('node', import.meta.filename)
  const cluster = useLoadedCluster(namespace)

  const wholeStatus = () => namespace().value('storecluster', cluster().name, '{.status}')

  // Documents fill volumes and etcd, which the status tells of.
  before('a cluster that is ready, and has no load any more', async () => {
    expect(await cluster().lost()).to.deep.equal([])
    await cluster().settles()
  })

  it('writes nothing for ten minutes, and asks for little', async () => {
    const { auditLog } = namespace().tier
    const record = new AuditLog(must(auditLog, 'the audit log, which QUARRY_E2E_AUDIT_LOG names'))
    const operator = `system:serviceaccount:${namespace().name}:${OPERATOR}`
    const written: string[][] = []

    do {
      const before = await wholeStatus()
      const mark = await record.mark()
      // Time itself is what the operator is given: whatever it looks at in turns, it looks at meanwhile.
      await passes(QUIET_MS)
      const own = (await record.since(mark)).filter((event) => isBy(event, operator))
      expect(own.length).to.be.greaterThan(0)
      const reads = own.filter(
        ({ verb, objectRef }) => verb === 'get' && objectRef?.resource !== 'leases',
      )
      expect(reads.length).to.be.lessThan(200)
      written.push(own.filter(isWrite).map(describeEvent))
      if (written.at(-1)?.length !== 0) print(`${before}\n${await wholeStatus()}`)
    } while (written.at(-1)?.length !== 0 && written.length < WINDOWS_MAX)

    expect(written.at(-1)).to.deep.equal([])
  })
})
