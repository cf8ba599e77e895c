// What happens to the nodes of a cluster and to their operator under a load: nothing that was acknowledged is lost.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { OPERATOR } from '../support/installed-operator.ts'
import { print, useLoadedCluster } from '../support/loaded-cluster.ts'
import { useNamespace } from '../support/test-namespace.ts'

/** In a container: every process but the first one, which only waits for the server. */
const KILL_SERVER = `
for (const entry of require('node:fs').readdirSync('/proc')) {
  const pid = Number(entry)
  if (pid > 1 && pid !== process.pid) process.kill(pid, 'SIGKILL')
}
`

/** What a container is given to stop its server for a while; its first process only waits for it. */
const SIGNAL_SERVER = (signal: 'SIGSTOP' | 'SIGCONT') => KILL_SERVER.replace('SIGKILL', signal)

/** What the file system of a node has room for, in MiB. */
const SIZE_MIB = `
const { blocks, bsize } = require('node:fs').statfsSync('/var/lib/quarry')
blocks * bsize / 2 ** 20
`

describe('the nodes of a cluster, when they or their operator fail', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  const cluster = useLoadedCluster(namespace)

  const holder = () => namespace().value('lease', OPERATOR, '{.spec.holderIdentity}')
  const pod = (name: string, jsonPath: string) => namespace().value('pod', name, jsonPath)

  it('come back when a server is killed', async () => {
    const victim = `${cluster().name}-node-1`
    const restarts = '{.status.containerStatuses[0].restartCount}'

    await cluster().during('a server killed', async () => {
      await namespace().kubectl(['exec', victim, '--', 'node', '-e', KILL_SERVER])
      await eventually(
        'the container is started again',
        () => pod(victim, restarts),
        (count) => count === '1',
      )
      await namespace().kubectl(['wait', '--for=condition=Ready', `pod/${victim}`])
    })
  })

  it('may be evicted when they are not well, whatever the budget says', async () => {
    const victim = `${cluster().name}-node-1`
    const uid = () => pod(victim, '{.metadata.uid}')
    const before = await uid()
    const server = (signal: 'SIGSTOP' | 'SIGCONT') =>
      namespace().kubectl(['exec', victim, '--', 'node', '-e', SIGNAL_SERVER(signal)])

    await cluster().during('a server that stands still, and an eviction', async () => {
      await server('SIGSTOP')
      await namespace().kubectl([
        'wait',
        '--for=condition=Ready=False',
        `pod/${victim}`,
        '--timeout=60s',
      ])
      await namespace().evict(victim)
      // It may end in order.
      await server('SIGCONT')
      await eventually('the pod is another one', uid, (now) => now !== before)
    })
  })

  it('are each restarted once when the leading operator is killed in the middle of it', async () => {
    const before = await cluster().podUIDs('node')
    const created = await timesCreated()

    await cluster().during('restart, its operator killed', async () => {
      await cluster().edit({ restartedAt: new Date().toISOString() })
      await cluster().reaches('jsonpath={.status.operation.phase}=WaitReady')
      const last = await holder()
      const leader = last.slice(0, last.lastIndexOf('_'))
      const begunMs = Date.now()
      await namespace().kubectl(['exec', leader, '--', 'node', '-e', KILL_SERVER])
      await eventually('another one leads', holder, (now) => now !== '' && now !== last)
      print(`another operator leads after ${Date.now() - begunMs} ms`)
      await cluster().reaches('condition=Progressing=False')
    })

    const after = await cluster().podUIDs('node')
    expect([...after.keys()]).to.deep.equal([...before.keys()])
    expect([...after].filter(([name, uid]) => before.get(name) === uid)).to.deep.equal([])
    const once = Object.entries(created).map(([name, times]) => [name, times + 1])
    expect(once).to.have.length(3)
    expect(await timesCreated()).to.deep.equal(Object.fromEntries(once))
  })

  /** By the events of the controller of StatefulSets. */
  const timesCreated = async (): Promise<Record<string, number>> => {
    const fields = '{range .items[*]}{.count} {.message}{"\\n"}{end}'
    const ofPods = ['--field-selector', 'reason=SuccessfulCreate', '-o', `jsonpath=${fields}`]
    const lines = (await namespace().kubectl(['get', 'events', ...ofPods])).split('\n')
    const created = lines.flatMap((line) => {
      const found = /^(?<count>\d+) create Pod \w+-(?<name>node-\d+) /i.exec(line)?.groups
      return found === undefined ? [] : [[found['name'] ?? '', Number(found['count'])] as const]
    })
    return Object.fromEntries(created.toSorted(([one], [other]) => one.localeCompare(other)))
  }

  it('stop at one pod for an image that does not exist, and start when it does', async () => {
    const before = await cluster().podUIDs('node')
    const image = await namespace().value('qsc', cluster().name, '{.status.image}')

    await cluster().during('an image that does not exist', async () => {
      await cluster().edit({ image: 'quarry.invalid/quarry:none' })
      await cluster().told('Degraded', 'ImagePullFailed')
      const now = await cluster().podUIDs('node')
      const same = [...now].filter(([name, uid]) => before.get(name) === uid)
      expect(same.map(([name]) => name)).to.have.members([
        `${cluster().name}-node-0`,
        `${cluster().name}-node-1`,
      ])
      await cluster().edit({ image })
    })
  })

  it('get larger volumes without a restart', async () => {
    const before = await cluster().podUIDs('node')

    await cluster().during('growth of volumes', async () => {
      await cluster().edit({ nodes: { storage: { size: '2Gi' } } })
      await eventually(
        'every volume has the new size',
        () => cluster().status('volumes[?(@.component=="Node")].capacity'),
        (capacities) => capacities === '2Gi 2Gi 2Gi',
      )
    })

    expect(await cluster().podUIDs('node')).to.deep.equal(before)
    const template = '{.spec.volumeClaimTemplates[0].spec.resources.requests.storage}'
    const set = `${cluster().name}-node`
    expect(await namespace().value('statefulset', set, template)).to.equal('2Gi')
    const size = await namespace().kubectl(['exec', `${set}-2`, '--', 'node', '-p', SIZE_MIB])
    expect(Number(size)).to.be.greaterThan(1900)
  })

  it('are replaced by others when a volume is lost', async () => {
    const victim = `${cluster().name}-node-2`
    const nodeID = () => cluster().status('members[?(@.ordinal==2)].nodeID')
    const lost = await nodeID()

    await cluster().during('a volume lost', async () => {
      await namespace().kubectl(['delete', 'pvc', `data-${victim}`, '--wait=false'])
      await namespace().kubectl(['delete', 'pod', victim, '--grace-period=0', '--force'])
      await cluster().told('Degraded', 'NodeDataLost')
    })

    expect(await nodeID()).to.match(/^[0-9a-f-]{36}$/)
    expect(await nodeID()).to.not.equal(lost)
  })

  it('have every document that was acknowledged', async () => {
    expect(await cluster().lost()).to.deep.equal([])
  })

  it('have secrets that nobody reads in logs, events and status', async () => {
    const secrets = await namespace().kubectl(['get', 'secrets', '-o', 'json'])
    const values = secretsIn(JSON.parse(secrets))
    const [logs, events, clusters, config] = await Promise.all([
      namespace().kubectl(['logs', `deployment/${OPERATOR}`, '--all-pods', '--tail=-1']),
      namespace().kubectl(['get', 'events', '-o', 'yaml']),
      namespace().kubectl(['get', 'qsc', '-o', 'yaml']),
      namespace().kubectl(['get', 'configmaps,statefulsets,pods', '-o', 'yaml']),
    ])

    expect(values.length).to.be.greaterThan(3)
    const shown = `${logs}${events}${clusters}${config}`
    expect(values.filter((value) => shown.includes(value))).to.deep.equal([])
  })
})

interface SecretList {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly data?: Readonly<Record<string, string>>
  }[]
}

/** What would give a secret away: of keys and passwords the line in their middle, without the certificates beside them. */
function secretsIn({ items }: SecretList): string[] {
  return items
    .filter(({ metadata: { name } }) => name.startsWith('books-'))
    .flatMap(({ data = {} }) => Object.entries(data))
    .filter(([key]) => key.endsWith('key') || key.endsWith('secret'))
    .flatMap(([, encoded]) => {
      const lines = Buffer.from(encoded, 'base64').toString().trim().split('\n')
      return [encoded, lines[Math.floor(lines.length / 2)] ?? '']
    })
}
