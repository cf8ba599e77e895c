// The secret and the certificates of three nodes are changed while clients write and read, and no request fails. A model
// whose key was sealed under the old secret is asked with this key afterwards.

import { writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { countTo } from '../support/loads/load.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { ProviderServer } from '../support/servers/providers/provider-server.ts'
import { openaiDouble } from '../support/servers/providers/wire-doubles.ts'
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
const KEY = 'sk-of-the-model'
const KEYS_OF_ONE = { first: 1, accepted: 0, none: 0, plain: 0 }
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
  readonly model: ProviderServer
  readonly #stop = new AbortController()
  readonly failures: string[] = []
  writes = 0
  #load: Promise<unknown> = Promise.resolve()

  private constructor(cluster: NodeProcesses, files: Files, model: ProviderServer) {
    this.#cluster = cluster
    this.model = model
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
    // Nodes load when this test asks them to, and not in the middle of its steps.
    const config = await cluster.file('quarry.yaml', 'reload_interval_ms: 0\n')
    const names = ['--peer-names', '127.0.0.1,images.test,next.images.test']
    const pem = [
      '--peer-tls-ca',
      files.ca,
      '--peer-tls-cert',
      files.cert,
      '--peer-tls-key',
      files.key,
    ]
    await cluster.add(3, ['--config', config, ...secrets, ...pem, ...names])
    const model = await ProviderServer.start(openaiDouble)
    const rotation = new Rotation(cluster, files, model)
    using client = rotation.client(0)
    await client.succeed('POST', '/api/v1/tables/books', '{"num_shards":6}')
    const embedder = { provider: 'openai', model: 'm', url: model.url, api_key: KEY }
    const indexes = { meaning: { type: 'embeddings', field: 'text', embedder } }
    await client.succeed('POST', '/api/v1/tables/notes', { num_shards: 6, indexes })
    await rotation.embeds('before')
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

  /** At each node: a write that waits for its vectors, and some that do not, on all shards. */
  async embeds(prefix: string): Promise<void> {
    for (const at of this.nodes.keys()) {
      using client = this.client(at)
      const inserts = { [`${prefix}-${at}`]: { text: `waited for at ${at}` } }
      const body = { inserts, sync_level: 'enrichments' }
      await client.succeed('POST', '/api/v1/tables/notes/batch', body)
      const later = countTo(24).map((n) => [`${n}-${prefix}-${at}`, { text: `${prefix} ${n}` }])
      await client.succeed('POST', '/api/v1/tables/notes/batch', {
        inserts: Object.fromEntries(later),
      })
    }
    using client = this.client(0)
    await until(async () => {
      const { text } = await client.succeed('GET', '/api/v1/tables/notes/indexes/meaning')
      return JSON.parse(text).status.enrichment.pending === 0
    })
  }

  async keysAt(at: number): Promise<unknown> {
    using client = this.client(at)
    return JSON.parse((await client.succeed('GET', '/api/v1/status')).text).model_keys
  }

  /** Waits until each node says that no key needs the secret that is to go. */
  async keysSealedAnew(): Promise<void> {
    for (const at of this.nodes.keys()) {
      await until(async () => isDeepStrictEqual(await this.keysAt(at), KEYS_OF_ONE))
    }
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
    await this.model[Symbol.asyncDispose]()
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
    await rotation.keysSealedAnew()
    await rotation.write('accepted', '')
    await rotation.write('ca', NEXT_CERTIFICATE)
    await rotation.hangUp()
    const after = await rotation.reload()
    rotation.model.received.length = 0
    await rotation.embeds('after')
    const asked = rotation.model.received.map(({ headers }) => headers.authorization)
    await rotation.end()
    await rotation.write('secret', 'a third one that nobody accepts')
    const lost = await rotation.refusedReload()

    expect(refused).to.include('nothing was replaced').and.include('--peer-tls-cert')
    expect(rotation.failures).to.deep.equal([])
    expect(new Set(asked)).to.deep.equal(new Set([`Bearer ${KEY}`]))
    expect(await rotation.keysAt(0)).to.deep.equal(KEYS_OF_ONE)
    expect(lost).to.include('nothing was replaced').and.include('notes/meaning')
    expect(new Set(after.map(({ digest }) => digest)).size).to.equal(1)
    expect(after[0]?.digest).to.not.equal(before?.digest)
    expect(after[0]?.files.map(({ option }) => option)).to.deep.equal([
      'cluster-secret-file',
      'peer-tls-ca',
      'peer-tls-cert',
    ])
  })
})
