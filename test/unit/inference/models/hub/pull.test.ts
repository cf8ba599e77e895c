import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { filesBelow } from '../../../../../inference/models/hub/folders.ts'
import { pullModel } from '../../../../../inference/models/hub/model-pull.ts'
import type { PullRequest, PulledModel } from '../../../../../inference/models/hub/model-pull.ts'
import { ModelsFolder } from '../../../../../inference/models/hub/models-folder.ts'
import { HubServer } from '../../../../support/fakes/hub-server.ts'

/** Back-off is over at once; only the watch for stalls waits until it is moved. */
class PullClock extends ManualClock {
  readonly waitedMs: number[] = []

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const isStallWatch = ms === 15_000
    if (isStallWatch) return super.sleep(ms, signal)
    this.waitedMs.push(ms)
    signal?.throwIfAborted()
    return Promise.resolve()
  }
}

const MODEL = 'acme/ranker'
const NO_NAME = `${'a'.repeat(64)}.test`
const GRAPH = randomBytes(300_000)
const SMALL_GRAPH = randomBytes(70_000)
const FILES = {
  'README.md': 'about',
  'config.json': '{"architectures":["BertForSequenceClassification"]}',
  'tokenizer.json': '{"model":{}}'.padEnd(5000),
  'onnx/model.onnx': GRAPH,
  'onnx/model_quantized.onnx': SMALL_GRAPH,
}

describe('pulling a model', () => {
  let hub: HubServer
  let modelsDir: string
  let clock: PullClock
  let retries: string[]
  let seen: Map<string, number[]>

  beforeEach(async () => {
    hub = await HubServer.open()
    hub.add(MODEL, FILES)
    modelsDir = await mkdtemp(path.join(tmpdir(), 'quarry-models-'))
    clock = new PullClock()
    retries = []
    seen = new Map()
  })

  afterEach(async () => {
    await hub[Symbol.asyncDispose]()
    await rm(modelsDir, { recursive: true })
  })

  function pull(request: Partial<PullRequest> = {}, signal?: AbortSignal): Promise<PulledModel> {
    return pullModel(
      {
        repository: { owner: 'acme', name: 'ranker', revision: 'main' },
        hub: { endpoint: hub.endpoint, token: undefined },
        modelsDir,
        kind: undefined,
        variant: undefined,
        ...request,
      },
      {
        clock,
        random: seededRandom(1),
        watcher: {
          onPlan: () => {},
          onFileBytes: ({ path: name }, bytes) =>
            seen.set(name, [...(seen.get(name) ?? []), bytes]),
          onRetry: (why) => retries.push(why),
        },
      },
      signal ?? new AbortController().signal,
    )
  }

  /** Until bytes of this file have come since the last time this was asked. */
  async function arrivalOf(file: string): Promise<void> {
    const before = seen.get(file)?.length ?? 0
    while ((seen.get(file)?.length ?? 0) === before) await setImmediate()
  }

  const read = (file: string) => readFile(path.join(modelsDir, 'rerankers/acme/ranker', file))
  const held = async () => (await filesBelow(modelsDir)).filter((file) => !file.endsWith('.json'))

  it('installs the files of the variant and a manifest, and leaves no other file', async () => {
    const pulled = await pull()

    expect(pulled).to.deep.equal({
      kind: 'reranker',
      variant: 'f32',
      directory: path.join(modelsDir, 'rerankers/acme/ranker'),
      files: 3,
      bytes: 51 + 5000 + 300_000,
    })
    expect(await filesBelow(modelsDir)).to.deep.equal(
      ['config.json', 'manifest.json', 'onnx/model.onnx', 'tokenizer.json'].map(
        (file) => `rerankers/acme/ranker/${file}`,
      ),
    )
    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
    expect(seen.get('onnx/model.onnx')?.at(-1)).to.equal(300_000)
  })

  it('writes a manifest with the files and their origin', async () => {
    await pull()

    const manifest = JSON.parse((await read('manifest.json')).toString('utf8'))
    expect(manifest).to.deep.include({
      schemaVersion: 2,
      name: 'ranker',
      owner: 'acme',
      type: 'reranker',
      source: 'hf:acme/ranker@main',
      variants: { f32: ['onnx/model.onnx'] },
      provenance: { downloadedFrom: hub.endpoint, downloadedAt: '2023-11-14T22:13:20.000Z' },
    })
    expect(
      manifest.files.map(({ name, size }: { name: string; size: number }) => [name, size]),
    ).to.deep.equal([
      ['config.json', 51],
      ['onnx/model.onnx', 300_000],
      ['tokenizer.json', 5000],
    ])
    // `printf '{"architectures":["BertForSequenceClassification"]}' | sha256sum`
    expect(manifest.files[0].digest).to.equal(
      'sha256:9666335d42624093ca40e4500dad7f13ea6cf7c5bffa252fe7aee4cabf75790b',
    )
  })

  it('adds a variant beside another, and does not fetch shared files again', async () => {
    await pull()
    hub.requests.length = 0
    const pulled = await pull({ variant: 'i8' })

    expect(pulled.variant).to.equal('i8')
    expect(hub.fetched).to.deep.equal(['config.json', 'onnx/model_quantized.onnx'])
    expect(await held()).to.deep.equal([
      'rerankers/acme/ranker/onnx/model.onnx',
      'rerankers/acme/ranker/onnx/model_quantized.onnx',
    ])
    const manifest = JSON.parse((await read('manifest.json')).toString('utf8'))
    expect(manifest.variants).to.deep.equal({
      f32: ['onnx/model.onnx'],
      i8: ['onnx/model_quantized.onnx'],
    })
    expect(manifest.files).to.have.length(4)
  })

  it('replaces files that have changed on the hub', async () => {
    await pull()
    const changed = randomBytes(300_000)
    hub.add(MODEL, { ...FILES, 'onnx/model.onnx': changed })
    await pull()

    expect((await read('onnx/model.onnx')).equals(changed)).to.equal(true)
  })

  it('reads a listing of many pages', async () => {
    hub.pageSize = 2
    await pull()

    expect(hub.requests.filter(({ path: asked }) => asked.includes('/tree/'))).to.have.length(3)
    expect(await held()).to.have.length(1)
  })

  it('sends the token to the hub and not to other hosts that it redirects to', async () => {
    hub.token = 'secret'
    await pull({ hub: { endpoint: hub.endpoint, token: 'secret' } })

    const sent = (origin: string) =>
      new Set(hub.requests.filter((one) => one.origin === origin).map((one) => one.authorization))
    expect([...sent('hub')]).to.deep.equal(['Bearer secret'])
    expect([...sent('cdn')]).to.deep.equal([undefined])
  })

  it('refuses a gated model with advice when the token is missing', async () => {
    hub.token = 'secret'

    expect(await failure(pull())).to.match(/^FORBIDDEN .*status 401.*set HF_TOKEN/)
  })

  it('reports a model that the hub does not have', async () => {
    hub.repositories.clear()

    expect(await failure(pull())).to.match(/^NOT_FOUND .*acme\/ranker.*status 404/)
  })

  it('continues a file where the connection broke', async () => {
    hub.onPartSent = () => arrivalOf('onnx/model.onnx')
    hub.fail(
      'onnx/model.onnx',
      { kind: 'cut', afterBytes: 100_000 },
      { kind: 'cut', afterBytes: 50_000 },
    )
    await pull()

    const ranges = hub.requests.filter(({ origin }) => origin === 'cdn').map(({ range }) => range)
    expect(ranges).to.have.length(4) // one of them for the tokenizer
    const begins = ranges.map((range) => Number(/\d+/.exec(range ?? '')?.[0] ?? 0))
    expect(begins[2]).to.be.within(1, 100_000)
    expect(begins[3]).to.be.within(begins[2]! + 1, 150_000)
    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
    expect(retries).to.have.length(2)
  })

  it('continues from the files of an earlier pull', async () => {
    const stop = new AbortController()
    hub.fail('onnx/model.onnx', { kind: 'stall', afterBytes: 200_000 })
    hub.onPartSent = async () => {
      await arrivalOf('onnx/model.onnx')
      stop.abort(new Error('enough'))
    }
    const failed = await pull({}, stop.signal).catch((error: unknown) => error)
    expect(failed).to.equal(stop.signal.reason)
    expect(await filesBelow(modelsDir)).to.include('.pulls/acme/ranker/files/onnx/model.onnx.part')
    expect(await new ModelsFolder(modelsDir).list()).to.deep.equal([])

    hub.requests.length = 0
    await pull()

    const last = hub.requests.at(-1)
    expect(last?.range).to.match(/^bytes=\d+-$/)
    expect(hub.fetched).to.deep.equal(['onnx/model.onnx'])
    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
  })

  it('checks the files of an earlier pull before it uses them', async () => {
    const folder = path.join(modelsDir, '.pulls/acme/ranker/files')
    await mkdir(path.join(folder, 'onnx'), { recursive: true })
    await writeFile(path.join(folder, 'tokenizer.json'), Buffer.alloc(5000))
    await writeFile(path.join(folder, 'onnx/model.onnx.part'), Buffer.alloc(100_000))
    await writeFile(path.join(folder, 'onnx/model_fp16.onnx'), 'of another variant')
    await pull()

    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
    expect((await read('tokenizer.json')).toString()).to.equal(FILES['tokenizer.json'])
    expect(await held()).to.deep.equal(['rerankers/acme/ranker/onnx/model.onnx'])
  })

  it('starts over when the server does not support ranges', async () => {
    hub.onPartSent = () => arrivalOf('onnx/model.onnx')
    hub.fail('onnx/model.onnx', { kind: 'cut', afterBytes: 100_000 }, { kind: 'no-range' })
    await pull()

    expect(hub.requests.at(-1)?.range).to.match(/^bytes=[1-9]/)
    expect(retries).to.deep.equal(['the connection broke (UND_ERR_SOCKET)'])
    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
  })

  it('refuses a range other than the requested one', async () => {
    hub.onPartSent = () => arrivalOf('onnx/model.onnx')
    hub.fail('onnx/model.onnx', { kind: 'cut', afterBytes: 100_000 }, { kind: 'other-range' })
    await pull()

    expect(retries).to.include('the hub answered with a range that was not requested')
    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
  })

  for (const file of ['config.json', 'onnx/model.onnx']) {
    it(`fetches ${file} again when its bytes are wrong, and gives up at the third attempt`, async () => {
      hub.fail(file, { kind: 'wrong-bytes' }, { kind: 'wrong-bytes' })
      await pull()
      expect(retries).to.have.length(2)

      await rm(path.join(modelsDir, 'rerankers'), { recursive: true })
      hub.fail(file, { kind: 'wrong-bytes' }, { kind: 'wrong-bytes' }, { kind: 'wrong-bytes' })
      const why = await failure(pull())

      expect(why).to.equal(`CORRUPTION the bytes of ${file} do not match the hub's digest`)
      const left = await filesBelow(path.join(modelsDir, '.pulls'))
      expect(left.filter((each) => each.includes(file))).to.deep.equal([])
      expect(await new ModelsFolder(modelsDir).list()).to.deep.equal([])
    })
  }

  it('waits longer after each failure, and as long as the hub asks', async () => {
    hub.fail('tree', { kind: 'status', status: 503 }, { kind: 'status', status: 500 })
    hub.fail('onnx/model.onnx', { kind: 'status', status: 429, retryAfter: '7' })
    await pull()

    expect(clock.waitedMs).to.have.length(3)
    expect(clock.waitedMs[0]).to.be.within(250, 500)
    expect(clock.waitedMs[1]).to.be.within(500, 1000)
    expect(clock.waitedMs[2]).to.equal(7000)
    expect(retries[0]).to.equal('the hub answered with status 503')
  })

  it('gives up on a hub that always fails', async () => {
    hub.fail('tree', ...Array.from({ length: 9 }, () => ({ kind: 'status', status: 502 }) as const))

    expect(await failure(pull())).to.match(
      /^UNAVAILABLE the hub answered with status 502; pull again/,
    )
    expect(clock.waitedMs).to.have.length(8)
    expect(retries).to.deep.equal(['the hub answered with status 502'])
  })

  it('gives up on a hub that does not exist', async () => {
    const { endpoint } = hub
    await hub[Symbol.asyncDispose]()
    const why = await failure(pull({ hub: { endpoint, token: undefined } }))
    hub = await HubServer.open()

    expect(why).to.match(/^UNAVAILABLE cannot reach 127.0.0.1:\d+ \(ECONNREFUSED\)/)
  })

  const noHubs = {
    'a port that is no hub’s': ['http://127.0.0.1:9', '127.0.0.1:9 (bad port)'],
    // Longer than a name may be: that is known without asking anybody.
    'a name that nobody has': [`http://${NO_NAME}`, `${NO_NAME} (ENOTFOUND)`],
  } as const
  for (const [what, [endpoint, shown]] of Object.entries(noHubs)) {
    it(`does not repeat a request for ${what}`, async () => {
      const why = await failure(pull({ hub: { endpoint, token: undefined } }))

      expect(why).to.include(`UNAVAILABLE cannot reach ${shown}; check the endpoint`)
      expect(clock.waitedMs).to.deep.equal([])
      expect(retries).to.deep.equal([])
    })
  }

  it('gives up a silent connection, and opens another', async () => {
    hub.fail('onnx/model.onnx', { kind: 'stall', afterBytes: 100_000 })
    hub.onPartSent = async () => {
      await arrivalOf('onnx/model.onnx')
      for (let period = 0; period < 3; period += 1) {
        clock.advance(15_000)
        await setImmediate()
      }
    }
    await pull()

    expect(retries).to.deep.equal(['no bytes arrived for 30 seconds'])
    expect((await read('onnx/model.onnx')).equals(GRAPH)).to.equal(true)
  })

  it('does not follow a redirect away from http', async () => {
    hub.fail('tree', { kind: 'redirect', location: 'file:///etc/passwd' })

    expect(await failure(pull())).to.include('redirects to a URL that is not https')
  })

  it('does not follow a ring of redirects', async () => {
    const ring = { kind: 'redirect', location: `/api/models/${MODEL}/tree/main` } as const
    hub.fail('tree', ring, ring, ring, ring, ring, ring)

    expect(await failure(pull())).to.include('redirects more than 5 times')
  })

  it('leaves out files whose paths lead elsewhere', async () => {
    const oid = 'a'.repeat(40)
    hub.extraEntries.set(MODEL, [{ type: 'file', path: '../../evil.json', size: 1, oid }])
    await pull()

    expect(hub.fetched.some((file) => file.includes('evil'))).to.equal(false)
  })

  it('asks for the kind when the files do not tell it', async () => {
    hub.add(MODEL, { ...FILES, 'config.json': '{}' })

    expect(await failure(pull())).to.match(/^INVALID_ARGUMENT .*add --kind, one of embedders/)
    expect((await pull({ kind: 'chunker' })).directory).to.equal(
      path.join(modelsDir, 'chunkers/acme/ranker'),
    )
  })

  it('restores a model that a killed pull had moved away', async () => {
    await pull()
    const target = path.join(modelsDir, 'rerankers/acme/ranker')
    await mkdir(path.join(modelsDir, '.pulls/acme/ranker/files'), { recursive: true })
    await rename(target, path.join(modelsDir, '.pulls/acme/ranker/replaced'))
    await pull({ variant: 'i8' })

    expect(await held()).to.deep.equal([
      'rerankers/acme/ranker/onnx/model.onnx',
      'rerankers/acme/ranker/onnx/model_quantized.onnx',
    ])
  })

  describe('the installed models', () => {
    it('are listed with variants and bytes, also those put there by hand', async () => {
      await pull()
      await pull({ variant: 'i8' })
      const own = path.join(modelsDir, 'embedders/own/onnx')
      await mkdir(own, { recursive: true })
      await writeFile(path.join(own, 'model_fp16.onnx'), 'graph')
      await mkdir(path.join(modelsDir, 'embedders/junk/deeper'), { recursive: true })

      const models = await new ModelsFolder(modelsDir).list()

      const { size } = await stat(path.join(modelsDir, 'rerankers/acme/ranker/manifest.json'))
      expect(models).to.deep.equal([
        { name: 'own', kind: 'embedder', variants: ['f16'], bytes: 5 },
        {
          name: 'acme/ranker',
          kind: 'reranker',
          variants: ['f32', 'i8'],
          bytes: 51 + 5000 + 370_000 + size,
        },
      ])
    })

    it('are an empty list in a missing folder', async () => {
      expect(await new ModelsFolder(path.join(modelsDir, 'absent')).list()).to.deep.equal([])
    })

    it('are removed with all of their files', async () => {
      await pull()
      await new ModelsFolder(modelsDir).remove({ kind: 'reranker', name: 'acme/ranker' })

      expect(await filesBelow(modelsDir)).to.deep.equal([])
    })

    it('are removed as links, and the linked files stay', async () => {
      await pull()
      await mkdir(path.join(modelsDir, 'embedders'))
      await symlink('../rerankers/acme/ranker', path.join(modelsDir, 'embedders/linked'))
      const folder = new ModelsFolder(modelsDir)

      expect((await folder.list()).map(({ name }) => name)).to.deep.equal(['linked', 'acme/ranker'])
      await folder.remove({ kind: 'embedder', name: 'linked' })

      expect((await folder.list()).map(({ name }) => name)).to.deep.equal(['acme/ranker'])
    })
  })
})

async function failure(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => 'it succeeded',
    (reason: unknown) => reason,
  )
  if (isServiceError(error)) return `${error.code} ${error.message}`
  throw error instanceof Error ? error : new Error(String(error))
}
