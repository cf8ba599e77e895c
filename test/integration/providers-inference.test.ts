// Providers against the real inference server, in a process of its own.

import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { parseEmbedderConfig } from '../../node/providers/config/parse-embedder-config.ts'
import {
  parseChunkerConfig,
  parseGeneratorConfig,
  parseRerankerConfig,
} from '../../node/providers/config/parse-task-configs.ts'
import { probeDimension } from '../../node/providers/embedding/probe-dimension.ts'
import type { Embedder } from '../../node/providers/contract/provider.ts'
import { isProviderError } from '../../node/providers/contract/provider-error.ts'
import type { Providers } from '../../node/providers/providers.ts'
import { openChunker } from '../../node/providers/wire/chunkers.ts'
import { openGenerator } from '../../node/providers/wire/generators.ts'
import { openReranker } from '../../node/providers/wire/rerankers.ts'
import { writeTinyGenerator, writeTinyReranker } from '../support/inference/model-directories.ts'
import { CommandFolder, readyLine } from '../support/processes/quarry-command.ts'
import { openProviders } from '../support/servers/providers/opened-providers.ts'

const never = new AbortController().signal

describe('providers and the real inference server', () => {
  let folder: CommandFolder
  let providers: Providers
  let url: string

  before(async () => {
    folder = await CommandFolder.open()
    providers = openProviders()
    await writeTinyReranker(path.join(folder.path, 'models/rerankers/cross'))
    await writeTinyGenerator(path.join(folder.path, 'models/generators/chat'))
    const child = folder.quarry(['inference', '--port', '0', '--health-port', '0'])
    url = (await readyLine(child)).api
  })

  after(async () => {
    await providers[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  function open(config: Readonly<Record<string, unknown>>): Embedder {
    return providers.embedders.borrow(parseEmbedderConfig({ url, ...config }, 'embedder'))
  }

  const dimensions = { 'builtin-hash': 384, 'quarry-static-en': 208 }
  for (const [model, dimension] of Object.entries(dimensions)) {
    it(`embed with ${model}, by three protocols to one result`, async () => {
      const texts = Array.from({ length: 600 }, (_, at) => `high water number ${at}`)
      const quarry = open({ provider: 'quarry', model })

      const vectors = await embed(quarry, texts)
      const byOllama = await embed(open({ provider: 'ollama', model }), texts.slice(0, 20))
      const byOpenai = await embed(open({ provider: 'openai', model, api_key: 'none' }), texts)

      expect(await probeDimension(quarry, { signal: never, clock: systemClock })).to.equal(
        dimension,
      )
      expect(vectors).to.have.length(600)
      expect(byOpenai).to.deep.equal(vectors)
      expect(byOllama).to.deep.equal(vectors.slice(0, 20))
    })
  }

  it('chunk a text by its rule, with offsets of the text', async () => {
    const text =
      'The tide rises twice a day. It falls as often. Charts show low water. 🌊 and more.'
    const config = { provider: 'quarry', url, text: { target_tokens: 8, overlap_tokens: 0 } }
    const chunker = openChunker(parseChunkerConfig(config, 'c'), providers.wire, systemClock)

    const chunks = await chunker.chunk(text, { signal: never })

    expect(chunks.length).to.be.at.least(2)
    for (const { text: part, start, end } of chunks) {
      expect(part).to.equal(text.slice(start, end)).and.not.equal('')
    }
  })

  it('rerank and generate by models of the server', async () => {
    const reranker = openReranker(
      parseRerankerConfig({ provider: 'quarry', model: 'cross', url }, 'r'),
      providers.wire,
      systemClock,
    )
    const generator = openGenerator(
      parseGeneratorConfig({ provider: 'quarry', model: 'chat', url, max_tokens: 3 }, 'g'),
      providers.wire,
      systemClock,
    )

    const { scores, cutCount } = await reranker.rerank('hello', ['world', 'hello '.repeat(3000)], {
      signal: never,
    })
    const text = await generator.generate([{ kind: 'text', text: 'hello' }], { signal: never })

    expect(scores).to.have.length(2)
    expect(cutCount).to.equal(1)
    expect(scores.every((score) => score >= 0 && score <= 1)).to.equal(true)
    expect(text).to.not.equal('')
  })

  it('take the shipped model when none is named', async () => {
    const [vector] = await embed(open({ provider: 'quarry' }), ['high water'])

    expect(vector).to.have.length(208)
  })

  it('are refused by an unknown model, with what the server says', async () => {
    for (const provider of ['quarry', 'ollama', 'openai']) {
      const embedder = open({
        provider,
        model: 'absent',
        ...(provider === 'openai' && { api_key: 'k' }),
      })
      let error: unknown
      await embed(embedder, ['x']).catch((thrown: unknown) => (error = thrown))

      expect(isProviderError(error) && error.failure).to.deep.equal({ kind: 'refused' })
      expect(error)
        .to.have.property('message')
        .that.matches(/^\w+ absent: status 404: .*not found/)
    }
  })
})

async function embed(embedder: Embedder, texts: readonly string[]): Promise<number[][]> {
  const items = texts.map((text) => [{ kind: 'text' as const, text }])
  const vectors = await embedder.embed(items, { signal: never, use: 'document' })
  return vectors.map((vector) => [...vector])
}
