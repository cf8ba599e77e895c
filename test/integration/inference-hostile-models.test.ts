// Models that crash, hang or devour: each costs its worker at most, and never the server.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { treeOf } from '../../bench/process-tree.ts'
import { crashingGraph, hungryGraph } from '../support/inference/hostile-graphs.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import type { InferenceAnswer } from '../support/servers/inference-server.ts'
import {
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyNer,
  writeTinyReranker,
} from '../support/inference/model-directories.ts'
import { until } from '../support/until.ts'

const GIB = 1024 ** 3
const SECRET = 'not for models'
/** Enough for a small model on a busy machine. */
const CALL_TIMEOUT_MS = 1500

async function workersOf(server: number): Promise<number[]> {
  const tree = await treeOf(server)
  const lines = await Promise.all(tree.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8')))
  return tree.filter((_, index) => lines[index]?.includes('model-worker-entry'))
}

describe('a hostile model', () => {
  let server: InferenceServer

  async function start(config: object, write: (root: string) => Promise<unknown>): Promise<void> {
    server = await InferenceServer.start(
      async (root) => {
        await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
        await write(root)
      },
      { workers: 1, ...config },
    )
    await untilReady()
  }

  const untilReady = (): Promise<void> =>
    until(async () => (await server.get('/readyz')).status === 200)

  afterEach(() => server[Symbol.asyncDispose]())

  const embed = (model: string, input: unknown): Promise<InferenceAnswer> =>
    server.post('/api/embed', { model, input })

  const recognize = (text: string): Promise<InferenceAnswer> =>
    server.post('/api/recognize', { model: 'ner', texts: [text] })

  it('that crashes its process costs a worker twice, and is then not tried for a while', async () => {
    await start({}, async (root) => {
      const directory = await writeTinyEmbedder(path.join(root, 'embedders/crash'))
      await writeModelDirectory(directory, { 'model.onnx': crashingGraph() })
    })

    const crashed = await embed('crash', 'hello')
    await untilReady()
    const resting = await embed('crash', 'hello')

    for (const { status, json } of [crashed, resting]) {
      expect([status, json.code]).to.deep.equal([503, 'UNAVAILABLE'])
      expect(json.error).to.include('SIGSEGV')
    }
    expect((await embed('tiny', 'hello')).status).to.equal(200)
    expect(await server.metric('quarry_inference_workers_ended_total')).to.equal(2)
    const failures = 'quarry_inference_model_load_failures_total{model="crash"}'
    expect(await server.metric(failures)).to.equal(2)
    expect(await server.metric('quarry_inference_workers_up')).to.equal(1)
  })

  it('that allocates without end is refused the memory, and other models are served', async () => {
    await start({ workerMemoryBytesMax: 2 * GIB }, async (root) => {
      const directory = await writeTinyEmbedder(path.join(root, 'embedders/hungry'))
      await writeModelDirectory(directory, { 'model.onnx': hungryGraph() })
    })
    const modest = await embed('hungry', 'hello')

    const greedy = await embed('hungry', 'paris')

    expect(modest.status).to.equal(200)
    expect([greedy.status, greedy.json.code]).to.deep.equal([500, 'INFERENCE_FAILED'])
    expect((await server.get('/readyz')).status).to.equal(200)
    const failures = 'quarry_inference_batch_failures_total{model="hungry"}'
    expect(await server.metric(failures)).to.equal(1)
    expect((await embed('hungry', 'hello foo')).status).to.equal(200)
    expect((await embed('tiny', 'hello')).status).to.equal(200)
  })

  it('finds no secrets in its worker, which the kernel ends first when memory runs out', async () => {
    const before = process.env['HF_TOKEN']
    process.env['HF_TOKEN'] = SECRET
    try {
      await start({}, async () => undefined)
    } finally {
      delete process.env['HF_TOKEN']
      if (before !== undefined) process.env['HF_TOKEN'] = before
    }

    const workers = await workersOf(process.pid)

    expect(workers).to.have.length(1)
    for (const pid of workers) {
      expect(await readFile(`/proc/${pid}/environ`, 'utf8')).to.not.include(SECRET)
      expect(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8')).to.equal('500\n')
    }
  })

  it('that fails on one input answers the others of its batch', async () => {
    await start({ workerMemoryBytesMax: 2 * GIB }, async (root) => {
      const directory = await writeTinyEmbedder(path.join(root, 'embedders/hungry'))
      await writeModelDirectory(directory, { 'model.onnx': hungryGraph() })
      await writeTinyEmbedder(path.join(root, 'embedders/slow'), { products: 12 })
    })
    await embed('hungry', 'foo')
    const held = embed('slow', 'hello')
    await until(async () => (await server.metric('quarry_inference_loaded_models')) === 2)
    await until(async () => (await server.metric('quarry_inference_queued_items')) === 0)
    const texts = ['hello', 'paris', 'world']
    const answers = texts.map((text) => embed('hungry', text))

    const statuses = (await Promise.all(answers)).map(({ status }) => status)

    expect(statuses).to.deep.equal([200, 500, 200])
    expect((await held).status).to.equal(200)
    // One alone at first, then three together, then each of them apart.
    const items = 'quarry_inference_batch_items_sum{model="hungry"}'
    expect(await server.metric(items)).to.equal(1 + 3 + 3)
  })

  it('is not blamed for a text that takes too long to tokenize', async () => {
    await start({}, (root) => writeTinyNer(path.join(root, 'recognizers/ner')))

    const long = recognize('alice works at acme corp in paris. '.repeat(850_000))
    const beside = recognize('alice')

    expect([(await long).status, (await beside).status]).to.deep.equal([400, 200])
    expect((await recognize('alice works')).status).to.equal(200)
  })

  it('whose run does not end in time is waited for in a thread, and other models are served', async () => {
    await start({ isolation: 'thread', callTimeoutMs: CALL_TIMEOUT_MS }, (root) =>
      writeTinyEmbedder(path.join(root, 'embedders/slow'), { products: 200 }),
    )

    const late = await embed('slow', 'hello')
    const beside = await embed('tiny', 'hello')

    expect([late.status, late.json.code]).to.deep.equal([503, 'UNAVAILABLE'])
    expect(beside.status).to.equal(200)
    expect(await server.metric('quarry_inference_loaded_models')).to.equal(1)
    expect(await server.metric('quarry_inference_workers_ended_total')).to.equal(0)
  })

  it('whose run does not end is ended with its worker', async () => {
    await start({ callTimeoutMs: CALL_TIMEOUT_MS }, async (root) => {
      await writeTinyReranker(path.join(root, 'rerankers/cross'))
      await writeTinyEmbedder(path.join(root, 'embedders/endless'), { products: 2_000 })
    })

    const { status } = await embed('endless', 'hello')

    expect(status).to.equal(503)
    await untilReady()
    await until(async () => (await embed('tiny', 'hello')).status === 200)
  })
})
