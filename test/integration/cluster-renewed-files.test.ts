// Certificates for etcd are replaced under a node as a kubelet does it, and nobody asks the node to load them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { parseClusterNodeConfig, type ClusterNodeConfig } from '../../node/cluster-config.ts'
import { startClusterNode } from '../../node/cluster-node.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import { MountedSecret } from '../support/processes/mounted-secret.ts'
import { freePorts } from '../support/servers/free-ports.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import {
  NEXT_CERTIFICATE,
  NEXT_CERTIFICATE_KEY,
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../support/servers/tls-certificate.ts'
import { until } from '../support/until.ts'

const FIRST = {
  'ca.crt': TEST_CERTIFICATE,
  'tls.crt': TEST_CERTIFICATE,
  'tls.key': TEST_CERTIFICATE_KEY,
}
/** Etcd shows the certificate of before, by the same authority. */
const RENEWED = { ...FIRST, 'tls.crt': NEXT_CERTIFICATE, 'tls.key': NEXT_CERTIFICATE_KEY }

describe('a node whose certificate for etcd is replaced', function () {
  this.timeout(200_000)
  let directory: string
  let etcd: EtcdCluster
  let mounted: MountedSecret
  let config: ClusterNodeConfig

  /** Etcd takes clients of this authority alone, from its next start on. */
  const trust = (authority: string): Promise<void> =>
    writeFile(path.join(directory, 'clients.pem'), authority)

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-renewed-'))
    const written = async (name: string, content: string): Promise<string> => {
      const file = path.join(directory, name)
      await writeFile(file, content, { mode: 0o600 })
      return file
    }
    const certificate = await written('etcd.pem', TEST_CERTIFICATE)
    const key = await written('etcd-key.pem', TEST_CERTIFICATE_KEY)
    const clients = await written('clients.pem', TEST_CERTIFICATE)
    const shows = [`--cert-file=${certificate}`, `--key-file=${key}`]
    const flags = [...shows, `--trusted-ca-file=${clients}`, '--client-cert-auth']
    etcd = await EtcdCluster.start({ members: 1, scheme: 'https', flags })
    mounted = await MountedSecret.mount(path.join(directory, 'mounted'), FIRST)
    const [healthPort] = await freePorts(1)
    config = parseClusterNodeConfig(
      { QUARRY_RELOAD_INTERVAL_MS: '1000' },
      {
        cluster: 'renewed',
        etcd: etcd.endpoints.join(','),
        etcdCa: mounted.file('ca.crt'),
        etcdCert: mounted.file('tls.crt'),
        etcdKey: mounted.file('tls.key'),
        clusterSecretFile: await written('secret', 'a secret of this test alone'),
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

  it('shows the new one to an etcd that takes the old one no more', async () => {
    await using node = await startClusterNode(config, new AbortController().signal)
    using client = new StoreClient(node.apiUrl)
    await client.succeed('POST', '/api/v1/tables/before', '{"num_shards":1}')

    await mounted.update(RENEWED)
    const member = must(etcd.members[0], 'a member')
    await member.kill()
    await trust(NEXT_CERTIFICATE)
    await member.start()

    await until(async () => {
      const made = await client.send('POST', '/api/v1/tables/after', '{"num_shards":1}')
      return made.status === 201
    })
    const metrics = await (await fetch(`${node.healthUrl}/metrics`)).text()
    expect(metrics).to.match(/^quarry_cluster_files_load_failed 0$/m)
  })

  it('starts with the new one, if etcd refuses the one that it was started with', async () => {
    const member = must(etcd.members[0], 'a member')
    await member.kill()
    await trust(NEXT_CERTIFICATE)
    await member.start()
    const starting = startClusterNode(config, new AbortController().signal)
    const readyz = `http://127.0.0.1:${config.healthPort}/readyz`
    await until(async () => (await fetch(readyz).catch(() => undefined))?.status === 503)

    await mounted.update(RENEWED)

    await using node = await starting
    expect((await fetch(`${node.healthUrl}/readyz`)).status).to.equal(200)
  })
})
