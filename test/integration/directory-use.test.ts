import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { NodeIdentity } from '../../node/cluster/node-identity.ts'
import { parseClusterNodeConfig } from '../../node/cluster-config.ts'
import { startClusterNode } from '../../node/cluster-node.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import { errorOf } from '../support/error-of.ts'
import { StoreClient } from '../support/servers/store-client.ts'

/** Nobody listens there, and nobody is asked. */
const ETCD = 'http://127.0.0.1:1'

describe('a data directory of another use', function () {
  this.timeout(200_000)
  let directory: string
  let dataDir: string

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-directory-use-'))
    dataDir = path.join(directory, 'data')
  })

  afterEach(() => rm(directory, { recursive: true, force: true }))

  function swarm() {
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    return startNode(parseNodeConfig({}, flags))
  }

  it('is refused in swarm mode if a node of a cluster has used it', async () => {
    await (await swarm()).close()
    const identity = await NodeIdentity.open({ path: dataDir, id: 'n1' })
    await identity.joined({ name: 'library', id: 'c1' })

    const error = await errorOf(swarm)

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(error).to.have.property('message').that.includes('a node of the cluster "library"')
  })

  it('is refused by a node of a cluster if a store in swarm mode has tables in it', async () => {
    const node = await swarm()
    using client = new StoreClient(node.apiUrl)
    await client.createTable('books', {})
    await node.close()
    const clusterSecretFile = path.join(directory, 'secret')
    await writeFile(clusterSecretFile, 'a secret of this test alone', { mode: 0o600 })
    const ports = { apiPort: '0', healthPort: '0', peerPort: '0' }
    const joins = { cluster: 'library', etcd: ETCD, clusterSecretFile }
    const flags = { ...joins, ...ports, dataDir, logLevel: 'error' }

    const config = parseClusterNodeConfig({}, flags)
    const error = await errorOf(() => startClusterNode(config, new AbortController().signal))

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(error).to.have.property('message').that.includes('tables of a store in swarm mode')
    await using again = await swarm()
    using clientAgain = new StoreClient(again.apiUrl)
    expect(await clientAgain.scan('books')).to.deep.equal([])
  })
})
