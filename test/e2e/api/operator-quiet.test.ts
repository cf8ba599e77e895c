// What the whole operator writes when nothing is to be done, what it tells of Secrets, and who writes when there are two.

import { expect } from 'chai'
import { AuditLog, describeEvent, isBy, isWrite } from '../support/audit-log.ts'
import { eventually } from '../support/eventually.ts'
import { KeptLog, operatorUser } from '../support/operator/tested-operator.ts'
import { recordOf, textsOf } from '../support/operator/stored-fields.ts'
import { useScene } from '../support/operator/use-scene.ts'

/** Passes of each cluster in which nothing may be written. */
const QUIET_PASSES = 5
const LEASE = 'quarry-operator'
const MARKER = 'a-planted-secret-value'
const CLUSTERS = ['books', 'plays'] as const

describe('the operator, when nothing is to be done', function () {
  this.timeout(120_000)

  const scene = useScene(import.meta.filename, { isStarted: false })
  const logs: KeptLog[] = []
  const start = (podName: string) => {
    const log = new KeptLog()
    logs.push(log)
    return scene().start({ podName, leaseName: LEASE, log })
  }
  const audit = () => new AuditLog(scene().namespace.tier.auditLog ?? '')
  const deedsSince = async (mark: number) => {
    const events = await audit().since(mark)
    const user = operatorUser(scene().namespace)
    return events.filter((event) => isBy(event, user) && isWrite(event)).map(describeEvent)
  }
  const holder = () =>
    scene()
      .namespace.value('lease', LEASE, '{.spec.holderIdentity}')
      .catch(() => '')

  before(async () => {
    await scene().namespace.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'given' },
      stringData: { key: MARKER },
    })
  })

  it('writes nothing but its Lease', async () => {
    await using operator = await start('one')
    await scene().apply('books', { nodes: { replicas: 3 }, secretStoreRef: { name: 'given' } })
    const env = [{ name: 'GIVEN', valueFrom: { secretKeyRef: { name: 'given', key: 'key' } } }]
    await scene().apply('plays', { mode: 'SingleNode', nodes: { replicas: 1, env } })
    for (const name of CLUSTERS) await scene().ready(name)
    scene().kubelet.hurries = false
    // The last events are on their way.
    await quietFor(1)
    const mark = await audit().mark()
    const { deeds } = operator

    await quietFor(QUIET_PASSES)

    expect(deeds).to.be.greaterThan(0)
    expect(await deedsSince(mark)).to.deep.equal([])
  })

  it('is led by one of two, and the other one takes over what that one has left', async () => {
    await using first = await start('first')
    await eventually('the first leads', holder, (name) => name.startsWith('first_'))
    await using second = await start('second')
    scene().kubelet.hurries = true
    await scene().edit('books', { nodes: { replicas: 4 } })
    await scene().ready('books', 4)
    const idle = second.deeds

    await scene().edit('books', { nodes: { replicas: 3 } })
    await scene().becomes('books', 'shrinks', ({ operation }) => operation?.type === 'ScaleDown')
    await first.kill()
    const led = first.deeds
    await eventually('the second leads', holder, (name) => name.startsWith('second_'))
    await scene().ready('books', 3)

    expect(idle, 'writes of one that does not lead').to.equal(0)
    expect(first.deeds).to.equal(led)
    expect(second.deeds).to.be.greaterThan(0)
    expect(scene().kubelet.broken).to.deep.equal([])
  })

  it('tells no value of a Secret in a log line, a status or an event', async () => {
    const secrets = await all('secrets')
    const values = secrets.flatMap(({ data }) => Object.values(textsOf(data)))
    const plain = values.map((value) => Buffer.from(value ?? '', 'base64').toString())
    const told = [
      ...logs.flatMap(({ lines }) => lines),
      JSON.stringify(await all('storeclusters.quarry.dev')),
      JSON.stringify(await all('events')),
      JSON.stringify(await all('configmaps')),
      JSON.stringify(await all('pods')),
    ].join('\n')

    expect(plain).to.include(MARKER)
    expect(plain.length).to.be.greaterThan(8)
    // A file of PEM is told if any line of its body is.
    const marks = [...values, ...plain.flatMap((value) => value.split('\n'))]
      .filter((value) => value !== undefined)
      .filter((value) => value.length >= 16 && !value.startsWith('-----'))
    expect(marks.filter((value) => told.includes(value))).to.deep.equal([])
  })

  /** So many passes of each cluster, which are begun by changes of something that is not the cluster's. */
  async function quietFor(passes: number): Promise<void> {
    for (const name of CLUSTERS) {
      const { store } = scene().kubelet.cluster(name)
      for (let pass = 0; pass < passes; pass++) {
        const before = store.looks
        await scene().kubelet.nudge(name)
        await eventually(
          `a pass of ${name}`,
          async () => store.looks,
          (looks) => looks > before,
        )
      }
    }
  }

  async function all(kind: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const list: unknown = JSON.parse(await scene().namespace.kubectl(['get', kind, '-o', 'json']))
    const { items } = recordOf(list)
    return Array.isArray(items) ? items.map(recordOf) : []
  }
})
