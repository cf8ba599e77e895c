// What is said when a model is loaded.

import { truncate } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { silentLog } from '../../lib/log.ts'
import { shortGraph } from '../support/inference/hostile-graphs.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import {
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyReranker,
} from '../support/inference/model-directories.ts'

interface LogLine {
  readonly level: 'info' | 'warn'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>> | undefined
}

const LARGE = {
  'tokenizer.json': 64 * 1024 * 1024,
  'tokenizer_config.json': 8 * 1024 * 1024,
}

async function writeModels(root: string): Promise<void> {
  const at = (name: string): string => path.join(root, 'embedders', name)
  await writeTinyEmbedder(at('plain'))
  await writeTinyEmbedder(at('odd'))
  await writeModelDirectory(at('odd'), {
    'tokenizer_config.json': { do_lowercase_and_remove_accent: true },
  })
  await writeModelDirectory(await writeTinyEmbedder(at('short')), {
    'model.onnx': shortGraph('last_hidden_state'),
  })
  await writeModelDirectory(await writeTinyReranker(path.join(root, 'rerankers/short')), {
    'model.onnx': shortGraph('logits'),
  })
  for (const [file, bytesMax] of Object.entries(LARGE)) {
    await writeTinyEmbedder(at(file))
    await truncate(path.join(at(file), file), bytesMax + 1)
  }
}

describe('loading a model', () => {
  let server: InferenceServer
  let lines: LogLine[]

  beforeEach(async () => {
    lines = []
    const write =
      (level: LogLine['level']) =>
      (message: string, fields?: LogLine['fields']): void =>
        void lines.push({ level, message, fields })
    const log = { ...silentLog, info: write('info'), warn: write('warn') }
    // There is room for one model alone.
    server = await InferenceServer.start(writeModels, { workers: 1, loadedModelsMax: 1 }, { log })
  })

  afterEach(() => server[Symbol.asyncDispose]())

  const embed = (model: string, input: string) => server.post('/api/embed', { model, input })

  const said = (message: string) =>
    lines.filter((line) => line.message === message).map(({ level, fields }) => ({ level, fields }))

  it('warns once about a tokenizer that may differ from the reference', async () => {
    await embed('odd', 'hello')
    await embed('plain', 'hello')
    await embed('odd', 'foo')

    expect(said('model loaded').map(({ fields }) => fields?.['model'])).to.deep.equal([
      'odd',
      'plain',
      'odd',
    ])
    const warnings = [
      'texts are put into lower case without accents, as tokenizer_config.json says',
    ]
    expect(said('tokenizer may differ from the reference')).to.deep.equal([
      { level: 'warn', fields: { model: 'odd', warnings } },
    ])
  })

  it('detects a graph that takes shorter texts than its configuration promises', async () => {
    const answers = [
      await embed('short', 'hello'),
      await server.post('/api/rerank', { model: 'short', query: 'hello', prompts: ['foo'] }),
    ]

    for (const { status, json } of answers) {
      expect([status, json.code]).to.deep.equal([503, 'UNAVAILABLE'])
      expect(json.error).to.include('model short failed to load: the graph failed')
    }
  })

  for (const [file, bytesMax] of Object.entries(LARGE)) {
    it(`refuses a ${file} that is too large before reading it`, async () => {
      const { status, json } = await embed(file, 'hello')

      expect(status).to.equal(503)
      expect(json.error).to.equal(
        `model ${file} failed to load: ${file} is larger than ${bytesMax} bytes`,
      )
    })
  }
})
