import { expect } from 'chai'
import { isServiceError } from '../../../../../lib/errors.ts'
import { parseEmbedderConfig } from '../../../../../node/providers/config/parse-embedder-config.ts'
import {
  parseChunkerConfig,
  parseGeneratorConfig,
  parseRerankerConfig,
} from '../../../../../node/providers/config/parse-task-configs.ts'

type Json = Readonly<Record<string, unknown>>

const embedder = (value: unknown): unknown => parseEmbedderConfig(value, 'indexes.notes.embedder')

function refusalOf(parse: () => unknown): string {
  try {
    parse()
  } catch (error) {
    if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return error.message
    throw error
  }
  throw new Error('it was accepted')
}

function refused(parse: (value: unknown, where: string) => unknown, value: Json): string {
  return refusalOf(() => parse(value, 'w'))
}

describe('the configuration of an embedder', () => {
  it('has the defaults of its provider', () => {
    const cases: readonly (readonly [Json, Json])[] = [
      [{ provider: 'quarry' }, { model: 'quarry-static-en', url: undefined, multimodal: false }],
      [{ provider: 'openai' }, { model: 'text-embedding-3-small', dimension: undefined }],
      [{ provider: 'openrouter' }, { model: 'openai/text-embedding-3-small' }],
      [{ provider: 'gemini' }, { model: 'gemini-embedding-001' }],
      [{ provider: 'vertex' }, { model: 'gemini-embedding-001', location: 'us-central1' }],
      [
        { provider: 'cohere' },
        { model: 'embed-english-v3.0', truncate: 'END', inputType: undefined },
      ],
      [
        { provider: 'bedrock', model: 'amazon.titan-embed-text-v2:0', dimensions: 512 },
        { dimension: 512, stripNewLines: false, batchSize: undefined, region: undefined },
      ],
    ]

    for (const [config, expected] of cases) expect(embedder(config)).to.deep.include(expected)
  })

  it('keeps references as they are', () => {
    const config = {
      provider: 'openai',
      url: '${EMBEDDER_URL}',
      api_key: '${secret:openai.api_key}',
    }

    expect(embedder(config)).to.include({ url: config.url, apiKey: config.api_key })
    expect(
      embedder({ provider: 'vertex', project_id: '${PROJECT}', location: 'eu-${PLACE}' }),
    ).to.include({ projectId: '${PROJECT}', location: 'eu-${PLACE}' })
  })

  const refusals: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    'no object': ['openai', /indexes\.notes\.embedder must be an object/],
    'no provider': [{ model: 'm' }, /embedder\.provider is required; it is one of quarry, ollama/],
    'an unknown provider': [{ provider: 'acme' }, /provider: "acme" is unknown; use one of quarry/],
    'a provider of another task': [{ provider: 'anthropic' }, /"anthropic" has no embedder/],
    'a name of every object': [{ provider: 'toString' }, /"toString" is unknown/],
    'no model where there is no default': [
      { provider: 'ollama' },
      /model is required for provider ollama/,
    ],
    'a model of another family': [
      { provider: 'bedrock', model: 'meta.llama3' },
      /"meta\.llama3" embeds by no known request/,
    ],
    'a model that leaves its path': [
      { provider: 'gemini', model: '../../v1/keys' },
      /embedder\.model/,
    ],
    'a reference in the model': [
      { provider: 'openai', model: '${HOME}' },
      /may not hold a reference/,
    ],
    'an unknown member': [
      { provider: 'quarry', batch: 1 },
      /embedder\.batch is unknown; .*has api_url, model/,
    ],
    'a member of another provider': [{ provider: 'quarry', api_key: 'k' }, /api_key is unknown/],
    'two dimensions': [
      { provider: 'openai', dimension: 8, dimensions: 9 },
      /dimension is 8 and dimensions is 9/,
    ],
    'a dimension of text': [
      { provider: 'openai', dimension: '8' },
      /dimension must be an integer from 1/,
    ],
    'images for a model of texts': [{ provider: 'openai', multimodal: true }, /embeds only texts/],
    'a URL of another scheme': [
      { provider: 'quarry', url: 'file:///etc' },
      /url must be a URL with http/,
    ],
    'a URL with a password': [{ provider: 'quarry', url: 'http://a:b@c/' }, /no password/],
    'a URL with a reference inside': [
      { provider: 'openai', url: 'https://evil.example/${OPENAI_API_KEY}' },
      /must be a URL or one reference/,
    ],
    'a reference that does not end': [{ provider: 'openai', api_key: '${KEY' }, /has no "}"/],
    'a reference of another form': [
      { provider: 'openai', api_key: '${secret:../etc}' },
      /a reference is/,
    ],
    'an empty key': [{ provider: 'openai', api_key: '' }, /api_key must be a text, not empty/],
    'a region of another form': [
      { provider: 'bedrock', model: 'cohere.embed-v4', region: 'eu.evil.example/' },
      /region: "eu\.evil\.example\/"/,
    ],
    'an input type that there is not': [
      { provider: 'cohere', input_type: 'x' },
      /must be one of search_document/,
    ],
  }

  for (const [name, [config, message]] of Object.entries(refusals)) {
    it(`refuses ${name}`, () => {
      expect(refusalOf(() => embedder(config))).to.match(message)
    })
  }

  it('does not repeat the inside of a malformed reference', () => {
    const message = refusalOf(() => embedder({ provider: 'openai', api_key: '${sk-live key}' }))

    expect(message).to.not.include('sk-live')
  })
})

describe('the configurations of other tasks', () => {
  it('have the defaults of their providers', () => {
    expect(parseChunkerConfig({ provider: 'quarry' }, 'c')).to.include({ model: 'fixed' })
    expect(
      parseChunkerConfig({ provider: 'quarry', text: { target_tokens: 9, separator: '. ' } }, 'c'),
    ).to.include({ targetTokens: 9, separator: '. ' })
    expect(parseRerankerConfig({ provider: 'cohere' }, 'r')).to.include({
      model: 'rerank-english-v3.0',
    })
    expect(parseGeneratorConfig({ provider: 'openai', model: 'gpt' }, 'g')).to.include({
      maxTokens: 1024,
      temperature: undefined,
    })
  })

  it('refuse what their task or provider does not have', () => {
    expect(refused(parseRerankerConfig, { provider: 'ollama', model: 'm' })).to.match(
      /"ollama" has no reranker/,
    )
    expect(refused(parseGeneratorConfig, { provider: 'cohere', model: 'm' })).to.match(
      /has no generator/,
    )
    expect(
      refused(parseGeneratorConfig, { provider: 'openai', model: 'm', temperature: 3 }),
    ).to.match(/w\.temperature/)
    expect(refused(parseChunkerConfig, { provider: 'quarry', text: { size: 1 } })).to.match(
      /w\.text\.size is unknown/,
    )
    expect(refused(parseChunkerConfig, { provider: 'quarry', audio: {} })).to.match(
      /w\.audio is unknown/,
    )
  })
})
