// How the server bears load, loss and its own end.

import path from 'node:path'
import { expect } from 'chai'
import { InferenceServer } from '../support/servers/inference-server.ts'
import type { InferenceAnswer } from '../support/servers/inference-server.ts'
import { writeModelDirectory, writeTinyEmbedder } from '../support/inference/model-directories.ts'
import { until } from '../support/until.ts'

const JSON_ONLY = { accept: 'application/json' }
/** Products that make one run of the slow model take about a second on the slowest machine. */
const SLOW_PRODUCTS = 12

async function writeModels(root: string): Promise<void> {
  await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
  await writeTinyEmbedder(path.join(root, 'embedders/other'), { scale: -1 })
  await writeTinyEmbedder(path.join(root, 'embedders/slow'), { products: SLOW_PRODUCTS })
}

describe('the inference server', () => {
  let server: InferenceServer

  async function start(config = {}, write = writeModels): Promise<InferenceServer> {
    server = await InferenceServer.start(write, { workers: 1, ...config })
    await until(async () => (await server.get('/readyz')).status === 200)
    return server
  }

  afterEach(() => server[Symbol.asyncDispose]())

  const embed = (model: string, input: unknown): Promise<InferenceAnswer> =>
    server.post('/api/embed', { model, input }, JSON_ONLY)

  const embedRuns = (): Promise<number> =>
    server.metric('quarry_inference_results_total{task="embed",source="run"}')

  it('runs a text once for fifty concurrent requests', async () => {
    await start()

    const answers = await Promise.all(Array.from({ length: 50 }, () => embed('tiny', 'hello')))

    expect(new Set(answers.map(({ json }) => JSON.stringify(json.embeddings))).size).to.equal(1)
    expect(await embedRuns()).to.equal(1)
  })

  it('runs a text once that a request repeats fifty times, and remembers its result', async () => {
    await start()

    const { json } = await embed(
      'tiny',
      Array.from({ length: 50 }, () => 'hello'),
    )
    await embed('tiny', 'hello')

    expect(json.embeddings).to.have.length(50)
    expect(await server.metric('quarry_inference_batch_items_sum{model="tiny"}')).to.equal(1)
    const hits = 'quarry_inference_results_total{task="embed",source="cache"}'
    expect(await server.metric(hits)).to.equal(1)
  })

  it('answers health while a long run is under way', async () => {
    await start()
    let isRunning = true
    const slow = embed('slow', 'hello').finally(() => {
      isRunning = false
    })
    await runningOf('slow')

    const { status } = await server.get('/healthz')

    expect([status, isRunning]).to.deep.equal([200, true])
    expect((await slow).status).to.equal(200)
  })

  it('refuses the first request beyond its limit with 503 and Retry-After', async () => {
    await start({ requestsRunningMax: 1, requestsWaitingMax: 1 })
    const first = embed('slow', 'hello')
    await until(async () => (await server.metric('quarry_inference_requests_running')) === 1)
    const second = embed('tiny', 'hello')
    await until(async () => (await server.metric('quarry_inference_requests_waiting')) === 1)

    const third = await embed('tiny', 'world')

    expect([third.status, third.json.code]).to.deep.equal([503, 'OVERLOADED'])
    expect(third.headers.get('retry-after')).to.equal('5')
    expect(await server.metric('quarry_inference_requests_rejected_total')).to.equal(1)
    expect([(await first).status, (await second).status]).to.deep.equal([200, 200])
  })

  it('refuses bodies that are too large together, and accepts them when others have been answered', async () => {
    await start({ requestMemoryBytesMax: 100_000 })
    const text = 'hello '.repeat(1_500)
    const ask = (i: number) => embed('slow', `${i} ${text}`)

    const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => ask(i)))

    const codes = answers.map(({ status, json }) => `${status} ${json.code ?? ''}`)
    expect(codes.filter((code) => code === '200 ').length).to.be.within(1, 23)
    expect(new Set(codes)).to.deep.equal(new Set(['200 ', '503 OVERLOADED']))
    expect((await ask(25)).status).to.equal(200)
  })

  it('answers 504 in time and does not run the items that still waited', async () => {
    await start({ requestTimeoutMs: 400 }, async (root) => {
      await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
      await writeTinyEmbedder(path.join(root, 'embedders/slow'), { products: 5 * SLOW_PRODUCTS })
    })
    await embed('slow', 'to load it')
    await until(async () => (await server.metric('quarry_inference_loaded_models')) === 1)
    let isAnswered = false
    const first = embed('slow', 'hello').finally(() => (isAnswered = true))
    const running = () => server.metric('quarry_inference_requests_running')
    await until(async () => isAnswered || (await running()) === 1)

    const waiting = await embed('slow', 'world')

    expect([waiting.status, waiting.json.code]).to.deep.equal([504, 'DEADLINE_EXCEEDED'])
    expect((await first).status).to.equal(504)
    await until(async () => (await server.metric(BATCHES_OF_SLOW)) === 1)
    await embed('tiny', 'hello')
    expect(await server.metric(BATCHES_OF_SLOW)).to.equal(1)
  })

  it('drops the waiting items of a client that disconnected', async () => {
    await start()
    const first = embed('slow', 'hello')
    await runningOf('slow')
    const gone = new AbortController()
    const left = server
      .post('/api/embed', { model: 'slow', input: ['foo', 'bar'] }, {}, gone.signal)
      .catch(() => undefined)
    await until(async () => (await server.metric('quarry_inference_queued_items')) === 2)

    gone.abort()
    await left

    await until(async () => (await server.metric('quarry_inference_queued_items')) === 0)
    expect((await first).status).to.equal(200)
  })

  it('serves two models in the room of one, asked alternately and at once', async () => {
    await start({ loadedModelsMax: 1 })

    const texts = Array.from({ length: 12 }, (_, i) => `hello ${'foo '.repeat(i)}`)
    const answers = await Promise.all(
      texts.map((text, i) => embed(i % 2 === 0 ? 'tiny' : 'other', text)),
    )

    expect(answers.map(({ status }) => status)).to.deep.equal(texts.map(() => 200))
    expect(await server.metric('quarry_inference_loaded_models')).to.be.at.most(1)
  })

  it('serves many clients of three models in the room of one', async () => {
    await start({ loadedModelsMax: 1 })
    const models = ['tiny', 'other', 'slow']
    const ask = async (client: number): Promise<number[]> => {
      const statuses: number[] = []
      for (const turn of [0, 1, 2, 3, 4, 5, 6, 7]) {
        const model = models[(client * turn + turn) % models.length] ?? ''
        statuses.push((await embed(model, `hello ${client} ${turn}`)).status)
      }
      return statuses
    }

    const statuses = await Promise.all(Array.from({ length: 24 }, (_, client) => ask(client)))

    expect(statuses.flat().filter((status) => status !== 200)).to.deep.equal([])
  })

  it('unloads at once where keep_alive is 0', async () => {
    await start()
    await server.post('/api/embed', { model: 'tiny', input: 'a', keep_alive: 0 })

    await until(async () => (await server.metric('quarry_inference_loaded_models')) === 0)
  })

  it('loads the models of --preload at the start, keeps them, and is ready only then', async () => {
    await start({ preload: ['tiny', 'builtin-hash'], loadedModelsMax: 1, keepAliveMs: 0 })
    const stateOf = async () => {
      const { json } = await server.get('/readyz')
      return [json.preload, json.loaded.map((each: { model: string }) => each.model)]
    }
    const loaded = [[{ model: 'tiny', state: 'loaded' }], ['tiny']]

    expect(await stateOf()).to.deep.equal(loaded)
    await server.post('/api/embed', { model: 'tiny', input: 'hello', keep_alive: 0 })
    const other = await embed('other', 'hello')
    expect([other.status, other.json.code]).to.deep.equal([503, 'UNAVAILABLE'])
    expect(other.json.error).to.include('does not fit beside the preloaded models')
    server.running.fleet.crashWorker(0)
    await until(async () => (await server.get('/readyz')).status === 503)
    await until(async () => (await server.get('/readyz')).status === 200)
    expect(await stateOf()).to.deep.equal(loaded)
  })

  it('is not ready without the models of --preload, but serves all others', async () => {
    server = await InferenceServer.start(writeModels, { workers: 1, preload: ['absent'] })
    await until(async () => (await embed('tiny', 'hello')).status === 200)

    const { status, json } = await server.get('/readyz')

    expect([status, json.status]).to.deep.equal([503, 'not_ready'])
    expect(json.preload).to.deep.equal([
      {
        model: 'absent',
        state: 'failed',
        reason:
          'there is no such model; there are the embedders builtin-hash, other, quarry-static-en, slow, tiny; ' +
          'the chunkers fixed, fixed-bert-tokenizer, fixed-bpe-tokenizer',
      },
    ])
  })

  for (const isolation of ['process', 'thread'] as const) {
    it(`loads, runs and ends with workers of the kind ${isolation}`, async () => {
      await start({ isolation, workers: 2 })

      const { json } = await embed('tiny', ['hello', 'world'])

      expect(json.embeddings).to.have.length(2)
    })
  }

  it('outlives a worker: its requests get 503, later ones are served', async () => {
    await start()
    const lost = embed('slow', 'hello')
    await runningOf('slow')

    server.running.fleet.crashWorker(0)

    const { status, json } = await lost
    expect([status, json.code]).to.deep.equal([503, 'UNAVAILABLE'])
    expect(json.error).to.include('SIGKILL')
    await until(async () => (await server.get('/readyz')).status === 200)
    expect((await embed('tiny', 'hello')).status).to.equal(200)
  })

  it('skips broken directories, says why, and serves the others', async () => {
    await start({}, async (root) => {
      const at = (name: string) => path.join(root, 'embedders', name)
      await writeTinyEmbedder(at('tiny'))
      await writeModelDirectory(at('junk'), { 'readme.txt': 'nothing here' })
      await writeModelDirectory(at('torn'), { 'config.json': '{', 'tokenizer.json': '{}' })
      await writeModelDirectory(at('liar'), {
        'tokenizer.json': '{}',
        'manifest.json': { files: [{ name: '../../etc/passwd' }] },
      })
      await writeTinyEmbedder(at('cut'))
      await writeModelDirectory(at('cut'), { 'model.onnx': 'not a graph' })
    })

    const { json } = await server.get('/readyz', server.running.healthUrl)
    const cut = await embed('cut', 'hello')

    const reasons = Object.fromEntries(
      json.skipped.map((each: { directory: string; reason: string }) => [
        each.directory,
        each.reason,
      ]),
    )
    expect(reasons['embedders/junk']).to.include('tokenizer.json is missing')
    expect(reasons['embedders/torn']).to.include('config.json')
    expect(reasons['embedders/liar']).to.include('outside')
    expect([cut.status, cut.json.code]).to.deep.equal([503, 'UNAVAILABLE'])
    expect(cut.json.error).to.include('failed to load')
    expect((await embed('tiny', 'hello')).status).to.equal(200)
  })

  it('lists the built-in models when no others are installed', async () => {
    await start({}, async () => undefined)

    const { json } = await server.get('/api/models')
    const calls = {
      '/api/rerank': { model: 'x', query: 'q', prompts: ['p'] },
      '/api/generate': { model: 'x', messages: [{ role: 'user', content: 'q' }] },
      '/api/recognize': { model: 'x', texts: ['t'] },
      '/api/rewrite': { model: 'x', inputs: ['t'] },
    }

    expect(json).to.deep.equal({
      chunkers: ['fixed'],
      rerankers: [],
      embedders: ['builtin-hash', 'quarry-static-en'],
      generators: [],
      recognizers: [],
      extractors: [],
      rewriters: [],
      recognizer_info: {},
    })
    for (const [route, body] of Object.entries(calls)) {
      const answer = await server.post(route, body)
      expect([route, answer.status, answer.json.code]).to.deep.equal([route, 404, 'NOT_FOUND'])
    }
  })

  it('refuses foreign pages, unknown routes and methods', async () => {
    await start({}, async () => undefined)

    const foreign = await server.post('/api/embed', {}, { origin: 'http://elsewhere.example' })
    const unknown = await server.get('/api/none')
    const wrong = await server.get('/api/embed')
    const openai = await server.post('/v1/none', {})

    expect([foreign.status, foreign.json.code]).to.deep.equal([403, 'FORBIDDEN'])
    expect([unknown.status, unknown.json.code]).to.deep.equal([404, 'NOT_FOUND'])
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'POST'])
    expect(openai.json.error.code).to.equal('NOT_FOUND')
  })

  const BATCHES_OF_SLOW = 'quarry_inference_batch_items_count{model="slow"}'

  async function runningOf(model: string): Promise<void> {
    await until(async () => {
      const { json } = await server.get('/readyz')
      const isLoaded = json.loaded.some((each: { model: string }) => each.model === model)
      return isLoaded && (await server.metric('quarry_inference_queued_items')) === 0
    })
  }
})
