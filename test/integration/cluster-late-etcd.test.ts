// A node that starts while etcd is away.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { parseClusterNodeConfig, type ClusterNodeConfig } from '../../node/cluster-config.ts'
import { startClusterNode } from '../../node/cluster-node.ts'
import { errorOf } from '../support/error-of.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import { freePorts } from '../support/servers/free-ports.ts'
import { until } from '../support/until.ts'

async function readiness({ healthPort }: ClusterNodeConfig): Promise<number | undefined> {
  const answer = await fetch(`http://127.0.0.1:${healthPort}/readyz`).catch(() => undefined)
  await answer?.text()
  return answer?.status
}

describe('a node that starts while etcd is away', function () {
  this.timeout(200_000)
  let directory: string
  let etcd: EtcdCluster
  let config: ClusterNodeConfig

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-late-etcd-'))
    const secret = path.join(directory, 'secret')
    await writeFile(secret, 'a secret of this test alone', { mode: 0o600 })
    etcd = await EtcdCluster.start({ members: 1 })
    await must(etcd.members[0], 'a member').kill()
    const [healthPort] = await freePorts(1)
    config = parseClusterNodeConfig(
      {},
      {
        cluster: 'late',
        etcd: etcd.endpoints.join(','),
        clusterSecretFile: secret,
        dataDir: path.join(directory, 'data'),
        apiPort: '0',
        healthPort: String(healthPort),
        peerPort: '0',
        logLevel: 'error',
      },
    )
  })

  afterEach(async () => {
    await etcd[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })

  it('lives and is not ready until etcd answers, then serves', async () => {
    const starting = startClusterNode(config, new AbortController().signal)
    await until(async () => (await readiness(config)) === 503)

    await must(etcd.members[0], 'a member').start()
    await using node = await starting

    expect(node.healthUrl).to.contain(`:${config.healthPort}`)
    expect(await readiness(config)).to.equal(200)
  })

  it('ends its start when it is told to', async () => {
    const stop = new AbortController()
    const starting = startClusterNode(config, stop.signal)
    await until(async () => (await readiness(config)) === 503)

    stop.abort(new Error('SIGTERM'))

    expect(await errorOf(() => starting)).to.equal(stop.signal.reason)
    expect(await readiness(config)).to.equal(undefined)
  })
})
