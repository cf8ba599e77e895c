import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { parseGeneratorConfig } from '../../../../../node/providers/config/parse-task-configs.ts'
import type { EmbedPart, Generator } from '../../../../../node/providers/contract/provider.ts'
import { isProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import type { Providers } from '../../../../../node/providers/providers.ts'
import { openGenerator } from '../../../../../node/providers/wire/generators.ts'
import { TOKEN, openProviders } from '../../../../support/servers/providers/opened-providers.ts'
import { ScriptedServer, answering } from '../../../../support/servers/scripted-server.ts'

const KEY = 'sk-very-secret-key'
const IMAGE = 'data:image/png;base64,aGVsbG8='
const never = new AbortController().signal

type Json = Readonly<Record<string, unknown>>

/** What a provider's server is sent and answers, as its documentation has it. */
interface Dialogue {
  readonly config: Json
  readonly path: string
  readonly headers: Readonly<Record<string, string | RegExp>>
  /** For the prompt "What is this?" and, unless it is text alone, the image. */
  readonly body: Json
  readonly answer: Json
  readonly textOnly?: boolean
}

const prompt = 'What is this?'
const text = 'A lighthouse.'
const openaiContent = [
  { type: 'text', text: prompt },
  { type: 'image_url', image_url: { url: IMAGE } },
]
const geminiBody = {
  contents: [
    {
      role: 'user',
      parts: [{ text: prompt }, { inlineData: { mimeType: 'image/png', data: 'aGVsbG8=' } }],
    },
  ],
  generationConfig: { maxOutputTokens: 1024, temperature: 0 },
}
const geminiAnswer = {
  candidates: [{ content: { parts: [{ text: 'A light' }, { text: 'house.' }] } }],
}

const DIALOGUES: Readonly<Record<string, Dialogue>> = {
  openai: {
    config: { provider: 'openai', model: 'gpt-x', api_key: KEY },
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}` },
    body: {
      model: 'gpt-x',
      max_tokens: 1024,
      temperature: 0,
      messages: [{ role: 'user', content: openaiContent }],
    },
    answer: { choices: [{ message: { role: 'assistant', content: text } }] },
  },
  quarry: {
    config: { provider: 'quarry', model: 'chat' },
    path: '/api/generate',
    headers: {},
    body: {
      model: 'chat',
      max_tokens: 1024,
      temperature: 0,
      messages: [{ role: 'user', content: prompt }],
    },
    answer: { choices: [{ message: { role: 'assistant', content: text } }] },
    textOnly: true,
  },
  ollama: {
    config: { provider: 'ollama', model: 'llava' },
    path: '/api/chat',
    headers: {},
    body: {
      model: 'llava',
      stream: false,
      options: { num_predict: 1024, temperature: 0 },
      messages: [{ role: 'user', content: prompt, images: ['aGVsbG8='] }],
    },
    answer: { message: { role: 'assistant', content: text }, done: true },
  },
  gemini: {
    config: { provider: 'gemini', model: 'gemini-x', api_key: KEY },
    path: '/v1beta/models/gemini-x:generateContent',
    headers: { 'x-goog-api-key': KEY },
    body: geminiBody,
    answer: geminiAnswer,
  },
  vertex: {
    config: {
      provider: 'vertex',
      model: 'gemini-x',
      project_id: 'tides',
      location: 'europe-west4',
    },
    path: '/v1/projects/tides/locations/europe-west4/publishers/google/models/gemini-x:generateContent',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: geminiBody,
    answer: geminiAnswer,
  },
  anthropic: {
    config: { provider: 'anthropic', model: 'claude-x', api_key: KEY },
    path: '/v1/messages',
    headers: { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
    body: {
      model: 'claude-x',
      max_tokens: 1024,
      temperature: 0,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: prompt },
            {
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' },
            },
          ],
        },
      ],
    },
    answer: {
      content: [
        { type: 'thinking', thinking: '…' },
        { type: 'text', text },
      ],
    },
  },
  bedrock: {
    config: { provider: 'bedrock', model: 'anthropic.claude-x', region: 'eu-west-1' },
    path: '/model/anthropic.claude-x/converse',
    headers: { authorization: /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/ },
    body: {
      messages: [
        {
          role: 'user',
          content: [{ text: prompt }, { image: { format: 'png', source: { bytes: 'aGVsbG8=' } } }],
        },
      ],
      inferenceConfig: { maxTokens: 1024, temperature: 0 },
    },
    answer: {
      output: { message: { role: 'assistant', content: [{ text }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      metrics: { latencyMs: 1 },
    },
  },
}

describe('generators', () => {
  let providers: Providers
  const saved: NodeJS.ProcessEnv = {}
  const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI' }

  // The official client is loaded with this file: it makes a global variable, which would count as a leak of
  // the test that loads it first.
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

  function open(config: Json, url: string): Generator {
    const parsed = parseGeneratorConfig({ temperature: 0, ...config, url }, 'summarizer')
    return openGenerator(parsed, providers.wire, systemClock)
  }

  const words: EmbedPart = { kind: 'text', text: prompt }
  const image: EmbedPart = { kind: 'image', dataUri: IMAGE }

  for (const [name, dialogue] of Object.entries(DIALOGUES)) {
    it(`continue a prompt by the protocol of ${name}`, async () => {
      await using server = await ScriptedServer.start([answering(200, dialogue.answer)])
      const generator = open(dialogue.config, server.url)
      const parts = dialogue.textOnly === true ? [words] : [words, image]

      const answer = await generator.generate(parts, { signal: never })

      const [request] = server.received
      expect(answer).to.equal(text)
      expect([request?.method, request?.path]).to.deep.equal(['POST', dialogue.path])
      expect(JSON.parse(request?.body ?? '')).to.deep.equal(dialogue.body)
      for (const [header, value] of Object.entries(dialogue.headers)) {
        const sent = String(request?.headers[header])
        if (typeof value === 'string') expect(sent).to.equal(value)
        else expect(sent).to.match(value)
      }
      expect(generator.accepts.includes('image')).to.equal(dialogue.textOnly !== true)
    })

    it(`name the failure of ${name}: no text, and a key that it refuses`, async () => {
      await using server = await ScriptedServer.start([
        answering(200, {}),
        answering(401, { error: { message: `bad key ${KEY}` } }),
      ])
      const generator = open(dialogue.config, server.url)
      const errors: unknown[] = []
      for (let each = 0; each < 2; each += 1) {
        await generator.generate([words], { signal: never }).catch((error) => errors.push(error))
      }

      expect(errors.map((error) => isProviderError(error) && error.failure.kind)).to.deep.equal([
        'unavailable',
        'refused',
      ])
      expect(String(errors[0])).to.include('it answered no text').and.include(generator.name)
      if (dialogue.config['api_key'] === KEY) expect(String(errors[1])).to.not.include(KEY)
    })
  }

  it('show sounds and films to models that know them, and refuse them for others', async () => {
    await using server = await ScriptedServer.start([answering(200, geminiAnswer)])
    const sound = { kind: 'audio', dataUri: 'data:audio/mpeg;base64,aGVsbG8=' } as const
    const gemini = open({ provider: 'gemini', model: 'g', api_key: KEY }, server.url)
    const openai = open({ provider: 'openai', model: 'gpt-x', api_key: KEY }, server.url)

    const answer = await gemini.generate([words, sound], { signal: never })
    const refusal = await openai
      .generate([words, sound], { signal: never })
      .catch((error: unknown) => error)

    expect(answer).to.equal(text)
    expect(server.received[0]?.body).to.include('"mimeType":"audio/mpeg"')
    expect(String(refusal)).to.include(
      'read only texts and images; use another provider for sounds',
    )
  })

  it('refuse images that their models cannot see, and ask nothing', async () => {
    await using server = await ScriptedServer.start([answering(200, {})])
    const texts = open({ provider: 'quarry', model: 'chat' }, server.url)
    const strange = open({ provider: 'ollama', model: 'llava' }, server.url)
    const failures: unknown[] = []

    await texts.generate([image], { signal: never }).catch((error) => failures.push(error))
    await strange
      .generate([{ kind: 'image', dataUri: 'https://example.org/a.png' }], { signal: never })
      .catch((error) => failures.push(error))
    await texts.generate([], { signal: never }).catch((error) => failures.push(error))

    expect(failures.map(String).join('\n')).to.match(/read only texts[^]*data URI[^]*no parts/)
    expect(server.received).to.deep.equal([])
  })

  it('ask a hosted provider only with a key', async () => {
    const generator = openGenerator(
      parseGeneratorConfig({ provider: 'anthropic', model: 'm' }, 'summarizer'),
      providers.wire,
      systemClock,
    )
    let failure: unknown
    await generator.generate([words], { signal: never }).catch((error) => (failure = error))

    expect(String(failure)).to.match(/anthropic m: api_key is required.*ANTHROPIC_API_KEY/)
  })
})
