// The secret and the certificates of three nodes are changed while clients write and read, and no request fails.

import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import {
  NEXT_CERTIFICATE,
  NEXT_CERTIFICATE_KEY,
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../support/servers/tls-certificate.ts'
import { until } from '../support/until.ts'

const OLD = 'a secret of this test alone'
const NEW = 'another secret of this test'
const WRITES_PER_STEP = 40

interface Loaded {
  readonly digest: string
  readonly log_level: string
  readonly files: readonly { readonly option: string; readonly digest: string }[]
}

type Files = Readonly<Record<'secret' | 'accepted' | 'ca' | 'cert' | 'key', string>>

/** Three nodes with files that are replaced. */
class Rotation implements AsyncDisposable {
  readonly #cluster: NodeProcesses
  readonly #files: Files
  readonly #stop = new AbortController()
  readonly failures: string[] = []
  writes = 0
  #load: Promise<unknown> = Promise.resolve()

  private constructor(cluster: NodeProcesses, files: Files) {
    this.#cluster = cluster
    this.#files = files
  }

  static async start(): Promise<Rotation> {
    const cluster = await NodeProcesses.start(0)
    const files = {
      secret: await cluster.file('own-secret', `${OLD}\n`),
      accepted: await cluster.file('accepted-secret', ''),
      ca: await cluster.file('ca.pem', TEST_CERTIFICATE),
      cert: await cluster.file('cert.pem', TEST_CERTIFICATE),
      key: await cluster.file('key.pem', TEST_CERTIFICATE_KEY),
    }
    const secrets = [
      '--cluster-secret-file',
      files.secret,
      '--accepted-secret-files',
      files.accepted,
    ]
    const names = ['--peer-names', '127.0.0.1,images.test,next.images.test']
    const pem = [
      '--peer-tls-ca',
      files.ca,
      '--peer-tls-cert',
      files.cert,
      '--peer-tls-key',
      files.key,
    ]
    await cluster.add(3, [...secrets, ...pem, ...names])
    const rotation = new Rotation(cluster, files)
    using client = rotation.client(0)
    await client.succeed('POST', '/api/v1/tables/books', '{"num_shards":6}')
    return rotation
  }

  get nodes(): readonly TestNode[] {
    return this.#cluster.nodes
  }

  client(at: number): StoreClient {
    return new StoreClient(must(this.nodes[at], 'a node').api)
  }

  write(file: keyof Files, content: string): Promise<void> {
    return writeFile(this.#files[file], content)
  }

  /** All nodes, one after the other, while clients write at each of them. */
  async reload(): Promise<readonly Loaded[]> {
    const loaded: Loaded[] = []
    for (const at of this.nodes.keys()) {
      using client = this.client(at)
      const { text } = await client.succeed('POST', '/api/v1/node/reload', {})
      loaded.push(JSON.parse(text))
      await this.#someWrites()
    }
    return loaded
  }

  async refusedReload(): Promise<string> {
    using client = this.client(0)
    const { status, text } = await client.send('POST', '/api/v1/node/reload', {})
    expect(status, text).to.equal(409)
    return JSON.parse(text).error
  }

  /** As a service manager does it. */
  async hangUp(): Promise<void> {
    const process = must(this.nodes[0]?.process, 'its process')
    const loads = (): number => process.log.split('settings loaded').length
    const before = loads()
    process.hangUp()
    await until(async () => loads() > before)
  }

  async #someWrites(): Promise<void> {
    const from = this.writes
    await until(async () => this.writes >= from + WRITES_PER_STEP)
  }

  begin(): void {
    this.#load = Promise.all([...this.nodes.keys()].map((at) => this.#loadAt(at)))
  }

  async #loadAt(at: number): Promise<void> {
    using client = this.client(at)
    for (let n = 0; !this.#stop.signal.aborted; n++) {
      const key = `${at}-${n}`
      const body = { inserts: { [key]: { n } } }
      const written = await client.send('POST', '/api/v1/tables/books/batch', body)
      if (written.status !== 201) this.failures.push(`${key}: ${written.status} ${written.text}`)
      const read = await client.send('GET', `/api/v1/tables/books/lookup/${key}`)
      if (read.status !== 200) this.failures.push(`${key}: ${read.status} ${read.text}`)
      this.writes += 1
    }
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await this.#load
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => undefined)
    await this.#cluster[Symbol.asyncDispose]()
  }
}

describe('a change of secrets and certificates', function () {
  this.timeout(180_000)

  it('fails no request of clients, in any of its steps', async () => {
    await using rotation = await Rotation.start()
    rotation.begin()
    const [before] = await rotation.reload()

    // Both secrets are accepted, then the new one is shown, then the old one is gone.
    await rotation.write('accepted', NEW)
    await rotation.write('ca', TEST_CERTIFICATE + NEXT_CERTIFICATE)
    await rotation.reload()
    await rotation.write('secret', NEW)
    await rotation.write('accepted', OLD)
    await rotation.write('cert', NEXT_CERTIFICATE)
    const refused = await rotation.refusedReload()
    await rotation.write('key', NEXT_CERTIFICATE_KEY)
    await rotation.reload()
    await rotation.write('accepted', '')
    await rotation.write('ca', NEXT_CERTIFICATE)
    await rotation.hangUp()
    const after = await rotation.reload()
    await rotation.end()

    expect(refused).to.include('nothing was replaced').and.include('--peer-tls-cert')
    expect(rotation.failures).to.deep.equal([])
    expect(new Set(after.map(({ digest }) => digest)).size).to.equal(1)
    expect(after[0]?.digest).to.not.equal(before?.digest)
    expect(after[0]?.files.map(({ option }) => option)).to.deep.equal([
      'cluster-secret-file',
      'peer-tls-ca',
      'peer-tls-cert',
    ])
  })
})
