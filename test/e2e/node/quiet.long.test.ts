// A cluster that is as its spec says: its operator writes nothing, by the API server's own record.

import { setTimeout as passes } from 'node:timers/promises'
import { expect } from 'chai'
import { AuditLog, describeEvent, isBy, isWrite } from '../support/audit-log.ts'
import { installOperator, OPERATOR, uninstallOperator } from '../support/installed-operator.ts'
import { LoadedCluster } from '../support/loaded-cluster.ts'
import { useNamespace } from '../support/test-namespace.ts'

const QUIET_MS = 180_000

describe('an operator that has nothing to do', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  let cluster: LoadedCluster

  before('a cluster that is ready', async () => {
    const image = await installOperator(namespace())
    cluster = new LoadedCluster(namespace(), image)
    await cluster.create()
    await cluster.load()
    await cluster.settles()
  })
  after('the load', () => cluster[Symbol.asyncDispose]())
  after('the operator', () => uninstallOperator(namespace()))

  it('writes nothing for three minutes, and asks for little', async function () {
    const { auditLog } = namespace().tier
    if (auditLog === undefined) this.skip()
    const record = new AuditLog(auditLog)
    const mark = await record.mark()

    // Time itself is what the operator is given: whatever it looks at in turns, it looks at meanwhile.
    await passes(QUIET_MS)

    const operator = `system:serviceaccount:${namespace().name}:${OPERATOR}`
    const own = (await record.since(mark)).filter((event) => isBy(event, operator))
    expect(own.length).to.be.greaterThan(0)
    expect(own.filter(isWrite).map(describeEvent)).to.deep.equal([])
    const reads = own.filter(
      ({ verb, objectRef }) => verb === 'get' && objectRef?.resource !== 'leases',
    )
    expect(reads.length).to.be.lessThan(100)
  })
})
