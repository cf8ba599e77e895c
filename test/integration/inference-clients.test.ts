// The official clients of the two APIs that this server also speaks, as they come from the registry.

import path from 'node:path'
import { expect } from 'chai'
import { Ollama } from 'ollama'
import OpenAI, { NotFoundError } from 'openai'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { writeTinyEmbedder, writeTinyGenerator } from '../support/inference/model-directories.ts'

/** The names of all models, generators first. */
const ALL_NAMES = ['tiny-chat', 'builtin-hash', 'acme/owned', 'quarry-static-en', 'short', 'tiny']
const HELLO = [0.54815096, 0.13703774, -0.54815096, 0.61666983]

describe('the official clients', () => {
  let server: InferenceServer
  let openai: OpenAI
  let ollama: Ollama

  before(async () => {
    server = await InferenceServer.start(async (root) => {
      await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
      await writeTinyEmbedder(path.join(root, 'embedders/short'), { maxLength: 4 })
      await writeTinyEmbedder(path.join(root, 'embedders/acme/owned'))
      await writeTinyGenerator(path.join(root, 'generators/tiny-chat'))
    })
    openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
    ollama = new Ollama({ host: server.url })
  })

  after(() => server[Symbol.asyncDispose]())

  it('ollama embeds one text and several', async () => {
    const one = await ollama.embed({ model: 'tiny', input: 'hello worlds' })
    const two = await ollama.embed({
      model: 'tiny',
      input: ['hello worlds', 'foo'],
      truncate: true,
      keep_alive: '1m',
      options: { num_ctx: 8 },
    })

    expectClose(one.embeddings[0], HELLO)
    expect(two.embeddings).to.have.length(2)
    expect(two.prompt_eval_count).to.equal(8)
    expect(two.model).to.equal('tiny')
  })

  it('ollama gets errors for a missing model and for a text that is too long', async () => {
    expect(await failureOf(ollama.embed({ model: 'none', input: 'a' }))).to.include('not found')
    const long = ollama.embed({ model: 'short', input: 'hello worlds', truncate: false })
    expect(await failureOf(long)).to.include('exceeds the context length')
  })

  it('ollama chats, at once and in a stream', async () => {
    const messages = [{ role: 'user', content: 'hello' }]
    const options = { num_predict: 3, temperature: 0 }
    const whole = await ollama.chat({ model: 'tiny-chat', messages, options })
    const streamed = await ollama.chat({ model: 'tiny-chat', messages, options, stream: true })
    const parts = await Array.fromAsync(streamed)

    const text = parts.map(({ message }) => message.content).join('')
    expect(text).to.equal(whole.message.content).and.not.equal('')
    expect(parts.at(-1)).to.include({ done: true, done_reason: 'length', eval_count: 3 })
    expect(whole.prompt_eval_count).to.equal(parts.at(-1)?.prompt_eval_count)
    expect(await failureOf(ollama.chat({ model: 'none', messages }))).to.include('not found')
    expect(
      await failureOf(ollama.chat({ model: 'tiny-chat', messages, format: 'json' })),
    ).to.include('format')
  })

  it('ollama generates from a prompt, at once and in a stream, as a chat of the same words', async () => {
    const asked = { model: 'tiny-chat', options: { num_predict: 3, temperature: 0 } }
    const messages = [
      { role: 'system', content: 'foo' },
      { role: 'user', content: 'hello' },
    ]
    const prompted = { ...asked, system: 'foo', prompt: 'hello' }
    const chat = await ollama.chat({ ...asked, messages })
    const whole = await ollama.generate({ ...prompted, suffix: '', template: '', raw: false })
    const parts = await Array.fromAsync(await ollama.generate({ ...prompted, stream: true }))

    expect(whole.response).to.equal(chat.message.content).and.not.equal('')
    expect(whole).to.include({ done: true, done_reason: 'length', eval_count: 3 })
    expect(whole.prompt_eval_count).to.equal(chat.prompt_eval_count)
    expect(parts.map(({ response }) => response).join('')).to.equal(whole.response)
    expect(parts.at(-1)).to.include({ done: true, response: '', done_reason: 'length' })
  })

  it('ollama streams a prompt unless told otherwise, and is told what a prompt cannot have', async () => {
    const prompted = { model: 'tiny-chat', prompt: 'hello', options: { num_predict: 2 } }
    const plain = await server.post('/api/generate', prompted)
    expect(plain.headers.get('content-type')).to.equal('application/x-ndjson')
    const refusals = {
      messages: { ...prompted, messages: [{ role: 'user', content: 'a' }] },
      tools: { ...prompted, tools: [] },
      logprobs: { ...prompted, logprobs: true },
      images: { ...prompted, images: ['aGk='] },
      format: { ...prompted, format: 'json' },
      raw: { ...prompted, raw: true },
      'options.temperature': { ...prompted, options: { temperature: 9 } },
      prompt: { ...prompted, prompt: 5 },
      'messages is required, or a prompt': { model: 'tiny-chat' },
    }
    for (const [words, body] of Object.entries(refusals)) {
      const { status, json } = await server.post('/api/generate', body)
      expect([status, json.error.startsWith(words)], json.error).to.deep.equal([400, true])
    }
    expect(await failureOf(ollama.generate({ model: 'none', prompt: 'a' }))).to.include('not found')
  })

  it('ollama is told how models come and go where it asks to pull, push, make, copy or delete one', async () => {
    const asked = {
      pull: () => ollama.pull({ model: 'llama3' }),
      push: () => ollama.push({ model: 'llama3' }),
      create: () => ollama.create({ model: 'a', from: 'b' }),
      copy: () => ollama.copy({ source: 'a', destination: 'b' }),
      delete: () => ollama.delete({ model: 'a' }),
    }
    for (const [name, ask] of Object.entries(asked)) {
      const failure = await failureOf(ask())
      expect(failure, name).to.include('quarry models pull').and.not.include('did you mean')
    }
    const prompt = openai.completions.create({ model: 'tiny-chat', prompt: 'a' })
    expect(await failureOf(prompt)).to.include('/v1/chat/completions')
  })

  it('ollama is told what a model is that cannot do what it asks for, and which models can', async () => {
    const messages = [{ role: 'user', content: 'hello' }]
    const generators = 'this needs a generator; the generators here are tiny-chat'
    const embedders = 'this needs an embedder; the embedders here are acme/owned, builtin-hash, '
    const cases = [
      [() => ollama.chat({ model: 'tiny', messages }), `it is an embedder, and ${generators}`],
      [
        () => ollama.generate({ model: 'builtin-hash', prompt: 'hello' }),
        `it is an embedder, and ${generators}`,
      ],
      [() => ollama.chat({ model: 'fixed', messages }), `it is a chunker, and ${generators}`],
      [
        () => ollama.embed({ model: 'tiny-chat', input: 'hello' }),
        `it is a generator, and ${embedders}`,
      ],
    ] as const

    for (const [ask, sentence] of cases) expect(await failureOf(ask())).to.include(sentence)
  })

  it('ollama lists, shows and embeds one prompt', async () => {
    const { embedding } = await ollama.embeddings({ model: 'tiny', prompt: 'hello worlds' })
    const names = (await ollama.list()).models.map(({ name }) => name)
    const loaded = (await ollama.ps()).models.map(({ name }) => name)
    const shown = await ollama.show({ model: 'tiny-chat' })

    expectClose(embedding, HELLO)
    expect(names).to.deep.equal(ALL_NAMES)
    expect(loaded).to.include('tiny')
    expect(shown.capabilities).to.deep.equal(['completion'])
    expect(shown.details.format).to.equal('onnx')
    expect(await failureOf(ollama.show({ model: 'none' }))).to.include('not found')
  })

  it('openai finds one model by its name', async () => {
    expect((await openai.models.retrieve('acme/owned')).id).to.equal('acme/owned')
    await openai.models.retrieve('none').then(
      () => expect.fail('there is no such model'),
      (error: unknown) => expect(error).to.be.instanceOf(NotFoundError),
    )
  })

  it('ollama reads the version', async () => {
    expect((await ollama.version()).version).to.match(/^\d+\.\d+\.\d+/)
  })

  it('openai embeds tokens of one text and of several', async () => {
    const embed = async (input: string | number[] | number[][]) => {
      const { data } = await openai.embeddings.create({ model: 'tiny', input })
      return data.map(({ embedding }) => embedding)
    }

    const [text] = await embed('hello worlds')
    // hello, world, ##s
    const tokens = await embed([4, 5, 6])
    const several = await embed([[4, 5, 6], [7]])

    expect(tokens).to.deep.equal([text])
    expect(several).to.have.length(2)
    expect(several[0]).to.deep.equal(text)
    expect(await failureOf(embed([4, 1_000_000]))).to.include('no token with such an id')
    const builtIn = openai.embeddings.create({ model: 'builtin-hash', input: [1] })
    expect(await failureOf(builtIn)).to.include('builtin-hash has no tokens')
  })

  it('openai embeds, as floats and by default', async () => {
    const floats = await openai.embeddings.create({
      model: 'tiny',
      input: ['hello worlds'],
      encoding_format: 'float',
    })
    const packed = await openai.embeddings.create({ model: 'tiny', input: 'hello worlds' })

    expectClose(floats.data[0]!.embedding, HELLO)
    expectClose(packed.data[0]!.embedding, HELLO)
    expect(packed.usage.prompt_tokens).to.equal(5)
  })

  it('openai asks for fewer dimensions', async () => {
    const { data } = await openai.embeddings.create({
      model: 'tiny',
      input: 'hello worlds',
      dimensions: 2,
    })

    expectClose(data[0]!.embedding, [0.9701425, 0.24253563])
  })

  it('openai gets 404 for a missing model', async () => {
    try {
      await openai.embeddings.create({ model: 'none', input: 'a' })
      expect.fail('the model is not there')
    } catch (error) {
      expect(error).to.be.instanceOf(NotFoundError)
      expect(error).to.have.property('code', 'NOT_FOUND')
      expect(error).to.have.property('message').that.includes('model not found')
    }
  })

  it('openai lists the models', async () => {
    const ids: string[] = []
    for await (const model of openai.models.list()) ids.push(model.id)

    expect(ids).to.have.members(ALL_NAMES)
  })

  // [CLS] hello are the ids 2 4: 6 12 6 12 … is "##s corp", over and over.
  const messages = [{ role: 'user' as const, content: 'hello' }]

  it('openai completes a chat', async () => {
    const completion = await openai.chat.completions.create({
      model: 'tiny-chat',
      messages,
      max_tokens: 4,
      temperature: 0,
    })

    const [choice] = completion.choices
    expect(completion.object).to.equal('chat.completion')
    expect(completion.id).to.match(/^chatcmpl-[0-9a-f]{24}$/)
    expect(choice!.finish_reason).to.equal('length')
    expect(choice!.message.content).to.include('corp')
    expect(completion.usage).to.deep.equal({
      prompt_tokens: 2,
      completion_tokens: 4,
      total_tokens: 6,
    })
  })

  it('openai streams the same text, with usage if it asks', async () => {
    const asked = { model: 'tiny-chat', messages, max_tokens: 8, temperature: 0 }
    const whole = await openai.chat.completions.create(asked)
    const stream = await openai.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })

    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)

    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(text).to.equal(whole.choices[0]!.message.content)
    expect(chunks[0]!.choices[0]!.delta.role).to.equal('assistant')
    expect(chunks.at(-2)!.choices[0]!.finish_reason).to.equal('length')
    expect(chunks.at(-1)!.choices).to.deep.equal([])
    expect(chunks.at(-1)!.usage).to.deep.equal(whole.usage)
  })

  it('openai collects the probabilities of a stream', async () => {
    const stream = openai.chat.completions.stream({
      model: 'tiny-chat',
      messages,
      max_tokens: 4,
      temperature: 0,
      logprobs: true,
      top_logprobs: 2,
    })

    const { choices } = await stream.finalChatCompletion()

    const tokens = choices[0]!.logprobs!.content!
    expect(tokens.map(({ token }) => token).join('')).to.equal(choices[0]!.message.content)
    expect(tokens.map((each) => each.top_logprobs.length)).to.deep.equal([2, 2, 2, 2])
  })

  it('openai gets a refusal before the stream begins', async () => {
    const refused = openai.chat.completions.create({ model: 'none', messages, stream: true })
    expect(await failureOf(refused)).to.include('404')
  })
})

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'nothing failed',
    (error: unknown) => String(error),
  )
}

function expectClose(actual: readonly number[] | undefined, expected: readonly number[]): void {
  expect(actual).to.have.length(expected.length)
  expected.forEach((value, i) => expect(actual![i]).to.be.closeTo(value, 1e-6))
}
