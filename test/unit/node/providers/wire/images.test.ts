// Items of images: by the real inference server with a model of two towers, and by the protocols of others.

import path from 'node:path'
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import { expect } from 'chai'
import sharp from 'sharp'
import { must } from '../../../../../lib/assert.ts'
import { parseEmbedderConfig } from '../../../../../node/providers/config/parse-embedder-config.ts'
import type { EmbedPart, Embedder } from '../../../../../node/providers/contract/provider.ts'
import type { Providers } from '../../../../../node/providers/providers.ts'
import { writeTinyTowers } from '../../../../support/inference/model-directories.ts'
import { InferenceServer } from '../../../../support/servers/inference-server.ts'
import { openProviders } from '../../../../support/servers/providers/opened-providers.ts'
import { ScriptedServer, answering } from '../../../../support/servers/scripted-server.ts'

const never = new AbortController().signal
const IMAGE: EmbedPart = { kind: 'image', dataUri: 'data:image/png;base64,aGVsbG8=' }
const WORDS: EmbedPart = { kind: 'text', text: 'hello' }

type Json = Readonly<Record<string, unknown>>

interface Dialogue {
  readonly config: Json
  /** For one item of the words and the image. */
  readonly body: Json
  readonly answer: Json
  readonly vector: readonly number[]
}

const DIALOGUES: Readonly<Record<string, Dialogue>> = {
  vertex: {
    config: {
      provider: 'vertex',
      model: 'multimodalembedding@001',
      project_id: 'tides',
      dimension: 2,
    },
    body: {
      instances: [
        { text: 'hello', image: { bytesBase64Encoded: 'aGVsbG8=', mimeType: 'image/png' } },
      ],
      parameters: { dimension: 2 },
    },
    answer: { predictions: [{ textEmbedding: [3, 0], imageEmbedding: [0, 5] }] },
    vector: [Math.SQRT1_2, Math.SQRT1_2],
  },
  bedrock: {
    config: {
      provider: 'bedrock',
      model: 'amazon.titan-embed-image-v1',
      region: 'eu-west-1',
      dimension: 2,
      multimodal: true,
    },
    body: {
      inputText: 'hello',
      inputImage: 'aGVsbG8=',
      embeddingConfig: { outputEmbeddingLength: 2 },
    },
    answer: { embedding: [0.6, 0.8] },
    vector: [0.6, 0.8],
  },
  cohere: {
    config: { provider: 'cohere', model: 'embed-v4.0', api_key: 'k', multimodal: true },
    body: {
      model: 'embed-v4.0',
      input_type: 'search_document',
      truncate: 'END',
      embedding_types: ['float'],
      inputs: [
        {
          content: [
            { type: 'text', text: 'hello' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } },
          ],
        },
      ],
    },
    answer: { embeddings: { float: [[0.6, 0.8]] } },
    vector: [0.6, 0.8],
  },
}

describe('items with images', () => {
  let providers: Providers
  const saved: NodeJS.ProcessEnv = {}
  const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI' }

  before(() => expect(BedrockRuntimeClient).to.be.a('function'))

  beforeEach(() => {
    providers = openProviders()
    for (const [name, value] of Object.entries(credentials)) {
      saved[name] = process.env[name]
      process.env[name] = value
    }
  })

  afterEach(async () => {
    await providers[Symbol.asyncDispose]()
    for (const name of Object.keys(credentials)) {
      if (saved[name] === undefined) delete process.env[name]
      else process.env[name] = saved[name]
    }
  })

  function open(config: Json, url: string): Embedder {
    return providers.embedders.borrow(parseEmbedderConfig({ ...config, url }, 'embedder'))
  }

  for (const [name, dialogue] of Object.entries(DIALOGUES)) {
    it(`have one vector with their texts by ${name}`, async () => {
      await using server = await ScriptedServer.start([answering(200, dialogue.answer)])
      const embedder = open(dialogue.config, server.url)

      const [vector] = await embed(embedder, [WORDS, IMAGE])

      expect(embedder.acceptsImages).to.equal(true)
      expect(JSON.parse(server.received[0]?.body ?? '')).to.deep.equal(dialogue.body)
      dialogue.vector.forEach((value, at) => expect(vector?.[at]).to.be.closeTo(value, 1e-6))
    })
  }

  it('are refused by models that take one image or none, and nothing is asked', async () => {
    await using server = await ScriptedServer.start([answering(200, {})])
    const cases: readonly (readonly [Json, readonly EmbedPart[], RegExp])[] = [
      [DIALOGUES['vertex']?.config ?? {}, [IMAGE, IMAGE], /2 images; the model takes one/],
      [DIALOGUES['bedrock']?.config ?? {}, [IMAGE, IMAGE], /2 images; the model takes one/],
      [
        DIALOGUES['vertex']?.config ?? {},
        [{ kind: 'image', dataUri: 'http://169.254.169.254/' }],
        /must be a data URI/,
      ],
      [{ provider: 'quarry' }, [IMAGE], /embeds only texts/],
      [
        { provider: 'quarry', multimodal: true },
        [{ kind: 'image', dataUri: `data:image/png;base64,${'A'.repeat(9_000_000)}` }],
        /an item has 90000\d\d bytes; up to 8388608/,
      ],
    ]

    for (const [config, item, message] of cases) {
      let error: unknown
      await embed(open(config, server.url), item).catch((thrown: unknown) => (error = thrown))
      expect(String(error)).to.match(message)
    }
    expect(server.received).to.deep.equal([])
  })

  it('are embedded by two towers of the inference server, and joined with their texts', async () => {
    await using server = await InferenceServer.start((root) =>
      writeTinyTowers(path.join(root, 'embedders/towers')),
    )
    const create = { width: 8, height: 8, channels: 3 as const, background: '#ff6600' }
    const png = await sharp({ create }).png().toBuffer()
    const image: EmbedPart = {
      kind: 'image',
      dataUri: `data:image/png;base64,${png.toString('base64')}`,
    }
    const embedder = open({ provider: 'quarry', model: 'towers', multimodal: true }, server.url)

    const [words, picture, both] = await embed(embedder, [WORDS], [image], [image, WORDS])

    const [first, second, joined] = [words, picture, both].map((each) => [
      ...must(each, 'a vector'),
    ])
    const sums = must(first, 'words').map((value, at) => value + (second?.[at] ?? 0))
    const length = Math.hypot(...sums)
    joined?.forEach((value, at) => expect(value).to.be.closeTo((sums[at] ?? 0) / length, 1e-6))
    expect(first).to.not.deep.equal(second)
  }).timeout(30_000)
})

function embed(
  embedder: Embedder,
  ...items: readonly (readonly EmbedPart[])[]
): Promise<readonly Float32Array[]> {
  return embedder.embed(items, { signal: never, use: 'document' })
}
