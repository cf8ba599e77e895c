import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import type { LogLevel } from '../../../lib/log.ts'
import { parseClusterNodeConfig } from '../../../node/cluster-config.ts'
import { readClusterFiles, type FileReader } from '../../../node/cluster-files.ts'
import { FilesWatch } from '../../../node/files-watch.ts'
import { LoadedFiles } from '../../../node/loaded-files.ts'
import { ReloadedSettings } from '../../../node/reloaded-settings.ts'
import { errorOf } from '../../support/error-of.ts'
import {
  NEXT_CERTIFICATE,
  NEXT_CERTIFICATE_KEY,
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../support/servers/tls-certificate.ts'
import { passTime } from '../../support/worlds/pass-time.ts'

const OLD = 'a secret of this test alone'
const NEW = 'another secret of this test'
const INTERVAL_MS = 1000
/** The interval, the tenth of it between two looks, and a step of the clock. */
const ROUND_MS = 1150
const BETWEEN_LOOKS_MS = 1050

const CONFIG = parseClusterNodeConfig(
  {},
  {
    cluster: 'watched',
    etcd: 'https://10.0.0.1:2379',
    clusterSecretFile: 'secret',
    acceptedSecretFiles: 'accepted',
    etcdUser: 'quarry',
    etcdPasswordFile: 'password',
    etcdCa: 'ca',
    etcdCert: 'cert',
    etcdKey: 'key',
  },
)

const FIRST = {
  secret: `${OLD}\n`,
  password: 'first\n',
  ca: TEST_CERTIFICATE,
  cert: TEST_CERTIFICATE,
  key: TEST_CERTIFICATE_KEY,
}

/** Files that are replaced one after the other, or that cannot be read. */
class ReplacedFiles implements FileReader {
  readonly #contents = new Map<string, string>(Object.entries(FIRST))
  #unreadable: string | undefined
  reads = 0

  write(contents: Readonly<Record<string, string>>): void {
    for (const [path, content] of Object.entries(contents)) this.#contents.set(path, content)
  }

  remove(path: string): void {
    this.#contents.delete(path)
  }

  /** Undefined: all can be read. */
  refuse(path: string | undefined): void {
    this.#unreadable = path
  }

  async content(path: string): Promise<Buffer> {
    this.reads += 1
    if (path === this.#unreadable) throw failure('EACCES')
    const content = this.#contents.get(path)
    if (content === undefined) throw failure('ENOENT')
    return Buffer.from(content)
  }

  async mode(path: string): Promise<number> {
    if (!this.#contents.has(path)) throw failure('ENOENT')
    return 0o600
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: a file of this test`), { code })
}

/** A node's files and their watch. */
class Watched implements AsyncDisposable {
  readonly clock: ManualClock
  readonly files: ReplacedFiles
  readonly loaded: LoadedFiles
  readonly told: string[] = []
  readonly watch: FilesWatch
  loads = 0

  private constructor(
    parts: { readonly clock: ManualClock; readonly files: ReplacedFiles },
    loaded: LoadedFiles,
    random: number,
  ) {
    this.clock = parts.clock
    this.files = parts.files
    this.loaded = loaded
    this.watch = new FilesWatch({
      look: () => loaded.look(),
      load: async () => {
        await loaded.load()
        this.loads += 1
      },
      intervalMs: INTERVAL_MS,
      clock: this.clock,
      random: () => random,
      log: { ...silentLog, warn: (_, fields) => this.told.push(String(fields?.['error'])) },
    })
  }

  static async open(random = 0.5): Promise<Watched> {
    const clock = new ManualClock()
    const files = new ReplacedFiles()
    const read = () => readClusterFiles(CONFIG, files)
    const { loaded } = await LoadedFiles.open(CONFIG, { read, clock })
    files.reads = 0
    return new Watched({ clock, files }, loaded, random)
  }

  round(): Promise<void> {
    return passTime(this.clock, ROUND_MS)
  }

  get certificate(): string {
    return String(this.loaded.etcd.value.tls?.cert)
  }

  get secrets(): readonly string[] {
    return this.loaded.secrets.value.map((secret) => Buffer.from(secret).toString())
  }

  /** The value of a metric. */
  metric(name: string): number {
    const line = this.loaded.lines().find((each) => each.startsWith(`quarry_cluster_${name} `))
    return Number(must(line, name).split(' ')[1])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watch.close()
  }
}

const RENEWED = {
  ca: TEST_CERTIFICATE + NEXT_CERTIFICATE,
  cert: NEXT_CERTIFICATE,
  key: NEXT_CERTIFICATE_KEY,
}

describe('the watch of a node over its files', () => {
  it('loads what has changed, once', async () => {
    await using node = await Watched.open()
    await node.round()
    const startedAt = node.metric('files_loaded_timestamp_seconds')
    node.files.write({ ...RENEWED, password: 'second\n', accepted: NEW })

    await node.round()
    await node.round()

    expect(node.loads).to.equal(1)
    expect(node.certificate).to.equal(NEXT_CERTIFICATE)
    expect(node.loaded.etcd.value.user).to.deep.equal({ name: 'quarry', password: 'second' })
    expect(node.secrets).to.deep.equal([OLD, NEW])
    expect(node.told).to.deep.equal([])
    expect(node.metric('files_loaded_timestamp_seconds')).to.be.greaterThan(startedAt)
    expect(node.metric('files_load_failed')).to.equal(0)
  })

  it('loads nothing while the files hold what is in use', async () => {
    await using node = await Watched.open()
    node.files.write({ secret: OLD }) // without the line feed it is the same secret

    for (let rounds = 0; rounds < 3; rounds++) await node.round()

    expect(node.files.reads).to.be.greaterThan(0)
    expect(node.loads).to.equal(0)
  })

  it('keeps a pair in force while its key is replaced and its certificate is not, and says so once', async () => {
    await using node = await Watched.open()
    node.files.write({ key: NEXT_CERTIFICATE_KEY, password: 'second\n' })
    for (let rounds = 0; rounds < 3; rounds++) await node.round()
    const half = { certificate: node.certificate, user: node.loaded.etcd.value.user }
    const failed = node.metric('files_load_failed')

    node.files.write(RENEWED)
    await node.round()

    expect(half.certificate).to.equal(TEST_CERTIFICATE)
    expect(half.user).to.deep.equal({ name: 'quarry', password: 'first' })
    expect(failed).to.equal(1)
    expect(node.told).to.have.length(1)
    expect(node.told[0]).to.match(/--etcd-cert cert: it is of no use with its key/)
    expect(node.certificate).to.equal(NEXT_CERTIFICATE)
    expect(node.metric('files_load_failed')).to.equal(0)
  })

  it('waits until somebody who writes several files has ended', async () => {
    await using node = await Watched.open()
    node.files.write({ secret: NEW }) // the old one is to be accepted, and is not written yet
    await passTime(node.clock, BETWEEN_LOOKS_MS)
    node.files.write({ accepted: OLD })
    await passTime(node.clock, INTERVAL_MS / 2)
    const between = { loads: node.loads, secrets: node.secrets }

    await node.round()

    expect(between).to.deep.equal({ loads: 0, secrets: [OLD] })
    expect(node.secrets).to.deep.equal([NEW, OLD])
  })

  const broken: Readonly<Record<string, readonly [(files: ReplacedFiles) => void, RegExp]>> = {
    'cannot be read': [(files) => files.refuse('key'), /--etcd-key key: .*EACCES/],
    'is missing': [(files) => files.remove('secret'), /--cluster-secret-file secret: .*ENOENT/],
    'is empty': [(files) => files.write({ password: '' }), /--etcd-password-file .*it is empty/],
    'is half written': [
      (files) => files.write({ cert: NEXT_CERTIFICATE.slice(0, 200), key: NEXT_CERTIFICATE_KEY }),
      /--etcd-cert cert: it is of no use/,
    ],
  }
  for (const [state, [damage, message]] of Object.entries(broken)) {
    it(`changes nothing while a file ${state}, and tries again`, async () => {
      await using node = await Watched.open()
      damage(node.files)
      for (let rounds = 0; rounds < 3; rounds++) await node.round()
      const before = { certificate: node.certificate, secrets: node.secrets }

      node.files.refuse(undefined)
      node.files.write({ ...FIRST, ...RENEWED })
      await node.round()

      expect(before).to.deep.equal({ certificate: TEST_CERTIFICATE, secrets: [OLD] })
      expect(node.told).to.have.length(1)
      expect(node.told[0]).to.match(message)
      expect(node.certificate).to.equal(NEXT_CERTIFICATE)
    })
  }

  it('says each new reason, and forgets it when somebody takes back the change', async () => {
    await using node = await Watched.open()
    node.files.write({ password: '' })
    await node.round()
    node.files.write({ secret: 'short' })
    await node.round()
    const failed = node.metric('files_load_failed')
    node.files.write(FIRST)
    await node.round()
    const after = node.metric('files_load_failed')

    node.files.write({ password: '', secret: 'short' })
    await node.round()

    expect(node.told).to.have.length(3)
    expect(node.told[2]).to.equal(node.told[1])
    expect([failed, after, node.loads]).to.deep.equal([1, 0, 0])
  })

  it('lets no secret go that is needed, once the node has started', async () => {
    await using node = await Watched.open()
    node.files.write({ secret: NEW, accepted: OLD })
    await node.round()
    const needs = { keys: ['notes/meaning'] }
    node.loaded.holdSecrets(async () => needs.keys)
    node.files.remove('accepted')
    await node.round()
    const kept = node.secrets

    needs.keys = []
    await node.round()

    expect(kept).to.deep.equal([NEW, OLD])
    expect(node.told).to.have.length(1)
    expect(node.told[0]).to.include('notes/meaning')
    expect(node.secrets).to.deep.equal([NEW])
  })

  it('tries again when what it asks about secrets does not answer', async () => {
    await using node = await Watched.open()
    let answers = false
    node.loaded.holdSecrets(async () => {
      if (!answers) throw new Error('etcd does not answer')
      return []
    })
    node.files.write(RENEWED)
    await node.round()
    await node.round()
    answers = true

    await node.round()

    expect(node.told).to.deep.equal(['etcd does not answer'])
    expect(node.certificate).to.equal(NEXT_CERTIFICATE)
  })

  it('looks a tenth earlier or later than others', async () => {
    const first: number[] = []
    for (const random of [0, 0.5, 0.999]) {
      await using node = await Watched.open(random)
      while (node.files.reads === 0) await passTime(node.clock, 50)
      first.push(node.clock.monotonicMs())
    }

    expect(first[0]).to.be.within(900, 950)
    expect(first[1]).to.be.within(1000, 1050)
    expect(first[2]).to.be.within(1050, 1100)
  })

  it('ends at once between two looks, and neither looks nor loads any more', async () => {
    const node = await Watched.open()
    node.files.write(RENEWED)
    await passTime(node.clock, BETWEEN_LOOKS_MS)
    const { reads } = node.files

    await node.watch.close()
    await node.round()

    expect(reads).to.be.greaterThan(0)
    expect(node.files.reads).to.equal(reads)
    expect(node.told).to.deep.equal([])
    expect(node.certificate).to.equal(TEST_CERTIFICATE)
  })
})

/** The level of the configuration. */
async function warnings(): Promise<LogLevel> {
  return 'warn'
}

describe('files that a node loads by itself', () => {
  it('leave the level of the log as it was asked for, until somebody asks again', async () => {
    const clock = new ManualClock()
    const files = new ReplacedFiles()
    const read = () => readClusterFiles(CONFIG, files)
    const { loaded } = await LoadedFiles.open(CONFIG, { read, clock })
    const level: LogLevel = 'info'
    const log = { ...silentLog, level }
    const settings = new ReloadedSettings({
      node: 'n',
      clock,
      log,
      levelOf: warnings,
      files: loaded,
    })
    await settings.reload({ logLevel: 'debug' })
    files.write(RENEWED)

    const byItself = await settings.loadFiles()
    const asked = await settings.reload({})

    expect(byItself.log_level).to.equal('debug')
    expect(String(loaded.etcd.value.tls?.cert)).to.equal(NEXT_CERTIFICATE)
    expect(asked.log_level).to.equal('warn')
    expect(asked.files).to.deep.equal(byItself.files)
    files.write({ key: TEST_CERTIFICATE_KEY })
    expect(await errorOf(() => settings.loadFiles())).to.have.property('name', 'ConfigurationError')
    expect(await errorOf(() => settings.reload({}))).to.include({ code: 'CONFLICT' })
  })
})
