// What a process goes through: it stands still for longer than its lease, and the API server is out of its reach.

import { expect } from 'chai'
import { FaultProxy } from '../../support/servers/fault-proxy.ts'
import { AuditLog, describeEvent, isBy } from '../support/audit-log.ts'
import { eventually } from '../support/eventually.ts'
import { OperatorProcess } from '../support/operator/operator-process.ts'
import { apiPortOf, operatorUser } from '../support/operator/tested-operator.ts'
import { SINGLE_NODE } from '../support/store-clusters.ts'
import { useScene } from '../support/operator/use-scene.ts'

const LEASE = 'e2e-operator'

describe('the process of an operator', function () {
  this.timeout(240_000)

  const scene = useScene(import.meta.filename, { isStarted: false })
  const holder = () =>
    scene()
      .namespace.value('lease', LEASE, '{.spec.holderIdentity}')
      .catch(() => '')

  /** Another account with the same rights, so that the record tells who wrote. */
  async function otherUser(): Promise<string> {
    const { name: namespace } = scene().namespace
    const apiGroup = 'rbac.authorization.k8s.io'
    await scene().namespace.apply({
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'other-operator' },
      roleRef: { apiGroup, kind: 'Role', name: 'quarry-operator' },
      subjects: [{ kind: 'ServiceAccount', name: 'other-operator', namespace }],
    })
    return `system:serviceaccount:${namespace}:other-operator`
  }

  it('ends without a write when it has stood still for longer than its lease', async () => {
    const audit = new AuditLog(scene().namespace.tier.auditLog ?? '')
    const frozenUser = await otherUser()
    const frozen = new OperatorProcess(scene().namespace, { user: frozenUser, leaseName: LEASE })
    await using stack = new AsyncDisposableStack()
    stack.use(frozen)
    await scene().apply('books', SINGLE_NODE)
    await scene().ready('books')
    const first = await holder()

    frozen.signal('SIGSTOP')
    const user = operatorUser(scene().namespace)
    stack.use(new OperatorProcess(scene().namespace, { user, leaseName: LEASE }))
    await eventually('another one leads', holder, (now) => now !== '' && now !== first)
    // What both would do now.
    await scene().edit('books', { logLevel: 'Debug' })
    const mark = await audit.mark()
    frozen.signal('SIGCONT')
    await eventually(
      'it has ended',
      async () => frozen.exitCode,
      (code) => code !== undefined,
    )
    await scene().ready('books')

    expect(frozen.exitCode).to.be.greaterThan(0)
    const own = (await audit.since(mark)).filter((event) => isBy(event, frozenUser))
    const reads = ['get', 'list', 'watch']
    const writes = own.filter(({ verb }) => !reads.includes(verb))
    expect(writes.map(describeEvent)).to.deep.equal([])
  })

  it('sees what has changed while the API server was out of its reach, or said nothing', async () => {
    await using proxy = await FaultProxy.open(apiPortOf(scene().namespace))
    await using operator = await scene().start({ apiPort: proxy.port })
    await scene().apply('plays', SINGLE_NODE)
    await scene().ready('plays')
    const faults = {
      'cut off, by resets': () => proxy.cut(),
      'in a network that loses everything': () => proxy.blackHole(),
      'silent: what it says is lost': () => proxy.set({ toClient: 'drop' }),
    }

    for (const [at, [fault, strike]] of Object.entries(faults).entries()) {
      strike()
      const logLevel = ['Debug', 'Info', 'Warn'][at] ?? ''
      await scene().edit('plays', { logLevel })
      if (at > 0) {
        await eventually(
          `the API server is ${fault}`,
          async () => proxy.droppedToClient,
          (bytes) => bytes > 0,
        )
      }
      proxy.heal()
      const status = await scene().ready('plays')
      expect(status.observedGeneration, fault).to.equal(at + 2)
    }
    expect(operator.log.lines.join()).to.not.include('cache handler failed')
  })
})
