import path from 'node:path'
import { expect } from 'chai'
import { InferenceServer } from '../support/servers/inference-server.ts'
import {
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyGenerator,
} from '../support/inference/model-directories.ts'
import { embedderGraph } from '../support/inference/model-graphs.ts'
import { until } from '../support/until.ts'

/** A minute of work for one step, and a graph that loads in time. */
const ENDLESS_PRODUCTS = 3_000

describe('a generation whose step does not end', () => {
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start(
      async (root) => {
        const endless = path.join(root, 'generators/endless')
        await writeTinyGenerator(endless)
        const graph = embedderGraph({ products: ENDLESS_PRODUCTS })
        await writeModelDirectory(endless, { 'model.onnx': graph })
        await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
      },
      { workers: 1, callTimeoutMs: 3_000, requestTimeoutMs: 3_000 },
    )
    await until(async () => (await server.get('/readyz')).status === 200)
  })

  after(() => server[Symbol.asyncDispose]())

  it('is ended with its worker when its client has left', async () => {
    const messages = [{ role: 'user', content: 'hello' }]
    const { status, json } = await server.post('/api/generate', { model: 'endless', messages })

    expect([status, json.code]).to.deep.equal([504, 'DEADLINE_EXCEEDED'])
    expect(await server.metric('quarry_inference_requests_running')).to.equal(0)
    await until(
      async () =>
        (await server.post('/api/embed', { model: 'tiny', input: 'hello' })).status === 200,
    )
  })
})
