// What an embedder's files say about its vectors, and what is said where they say nothing.

import { rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { InferenceConfig } from '../../inference/config.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { writeModelDirectory, writeTinyEmbedder } from '../support/inference/model-directories.ts'

const JSON_ONLY = { accept: 'application/json' }
const DENSE = [
  { idx: 0, path: '', type: 'sentence_transformers.models.Transformer' },
  { idx: 1, path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  { idx: 2, path: '2_Dense', type: 'sentence_transformers.models.Dense' },
]
const NORMALIZED = [...DENSE.slice(0, 2), { path: '2_Normalize', type: 'x.models.Normalize' }]
const JOINED = { pooling_mode_cls_token: true, pooling_mode_mean_tokens: true }

describe('the files of an embedder', () => {
  let server: InferenceServer

  afterEach(() => server[Symbol.asyncDispose]())

  async function start(config: Partial<InferenceConfig> = {}): Promise<void> {
    server = await InferenceServer.start(async (root) => {
      const at = (name: string): string => path.join(root, 'embedders', name)
      const write = (name: string, files: Readonly<Record<string, object>>) =>
        writeTinyEmbedder(at(name)).then((folder) => writeModelDirectory(folder, files))
      await writeTinyEmbedder(at('plain'))
      await rm(path.join(await writeTinyEmbedder(at('silent')), '1_Pooling'), { recursive: true })
      await write('dense', { 'modules.json': DENSE })
      await write('normalized', { 'modules.json': NORMALIZED })
      await writeModelDirectory(
        await writeTinyEmbedder(at('whole'), { output: 'sentence_embedding' }),
        { 'modules.json': DENSE },
      )
      await write('joined', { '1_Pooling/config.json': JOINED })
      await write('newer', { '1_Pooling/config.json': { pooling_mode: 'cls' } })
      await writeTinyEmbedder(at('rounded'), { quantizes: true })
    }, config)
  }

  async function vectorsOf(model: string, input: readonly string[]): Promise<number[][]> {
    const { json } = await server.post('/api/embed', { model, input }, JSON_ONLY)
    return json.embeddings
  }

  async function warningsOf(model: string): Promise<readonly string[]> {
    const { json } = await server.get('/readyz')
    const loaded: readonly { model: string; warnings: string[] }[] = json.loaded
    return loaded.find((each) => each.model === model)?.warnings ?? []
  }

  it('cause a warning where they do not name the pooling', async () => {
    await start()

    const [silent, plain] = [
      await vectorsOf('silent', ['hello foo']),
      await vectorsOf('plain', ['hello foo']),
    ]

    expect(silent).to.deep.equal(plain)
    expect(await warningsOf('silent')).to.match(/no 1_Pooling\/config.json: vectors are the mean/)
    expect(await warningsOf('plain')).to.deep.equal([])
  })

  it('are refused where a step after pooling would be left out', async () => {
    await start()

    const refused = await server.post('/api/embed', { model: 'dense', input: 'hello' })
    const served = await Promise.all(
      ['whole', 'normalized', 'newer'].map((model) => vectorsOf(model, ['hello'])),
    )

    expect([refused.status, refused.json.code]).to.deep.equal([503, 'UNAVAILABLE'])
    expect(refused.json.error).to.include('modules.json: 2_Dense is not applied')
    expect(served.map(([vector]) => vector?.length)).to.deep.equal([4, 4, 4])
    expect(await warningsOf('whole')).to.deep.equal([])
  })

  it('are skipped where they combine several poolings', async () => {
    await start()

    const { json } = await server.get('/readyz')

    const joined = 'pooling_mode_cls_token and pooling_mode_mean_tokens'
    expect(json.skipped).to.deep.equal([
      {
        directory: 'embedders/joined',
        reason: `1_Pooling/config.json: it combines ${joined}; only one pooling is supported`,
      },
    ])
  })

  // 'paris' has a state twelve times as large as that of 'hello', and so has the scale of both.
  const alone = ['hello']
  const together = ['paris', 'hello']

  it('cause a warning where rows of a batch change each other', async () => {
    await start({ cacheBytesMax: 1 })

    const [first] = await vectorsOf('rounded', alone)
    const [, second] = await vectorsOf('rounded', together)

    expect(first).to.not.deep.equal(second)
    expect(await warningsOf('rounded')).to.match(
      /model.onnx quantizes activations .*EXACT_ROWS=true/,
    )
  })

  it('give a text the same vector alone and in a batch with exact rows', async () => {
    await start({ cacheBytesMax: 1, exactRows: true })

    const [first] = await vectorsOf('rounded', alone)
    const [, second] = await vectorsOf('rounded', together)

    expect(first).to.deep.equal(second)
    expect(await warningsOf('rounded')).to.deep.equal([])
  })
})
