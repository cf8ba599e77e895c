// The known answers of every task beside embedding, over HTTP, through workers. The formulas stand
// above the graphs in test/support/inference/model-graphs.ts.

import path from 'node:path'
import { expect } from 'chai'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { failingGraph } from '../support/inference/model-graphs.ts'
import {
  writeTinyChunker,
  writeTinyGenerator,
  writeTinyGliner,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'

const NUMBERS = 'one two three four five six seven eight nine ten'

describe('the tasks of the inference API', () => {
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start(async (root) => {
      const at = (name: string) => path.join(root, name)
      await writeTinyReranker(at('rerankers/acme/cross'))
      await writeTinyReranker(at('rerankers/pair'), { labels: 2 })
      await writeTinyReranker(at('rerankers/both'))
      await writeTinyReranker(at('rerankers/both'), { constant: 5, file: 'model_quantized.onnx' })
      await writeTinyNer(at('recognizers/ner'))
      await writeTinyGliner(at('recognizers/gliner'))
      await writeTinyChunker(at('chunkers/stops'))
      await writeTinyChunker(at('chunkers/failing'), failingGraph())
      await writeTinyRewriter(at('rewriters/sums'))
      await writeTinyGenerator(at('generators/sums'))
      await writeTinyGenerator(at('generators/stops'), { eos: [12, 17] })
      await writeTinyGenerator(at('generators/endless'), { contextLength: 1_000_000 })
    })
  })

  after(() => server[Symbol.asyncDispose]())

  async function chunk(text: string, config?: object) {
    const answer = await server.post('/api/chunk', { text, ...(config ? { config } : {}) })
    expect(answer.status, answer.bytes.toString()).to.equal(200)
    return answer.json
  }

  async function askBriefly(content: string): Promise<string> {
    const messages = [{ role: 'user', content }]
    const body = { model: 'sums', messages, temperature: 0, max_tokens: 40 }
    return (await server.post('/api/generate', body)).json.choices[0].message.content
  }

  describe('rerank', () => {
    const prompts = ['world foo', 'bar', 'hello .']

    async function scores(body: object): Promise<number[]> {
      const answer = await server.post('/api/rerank', { query: 'hello', prompts, ...body })
      expect(answer.status, answer.bytes.toString()).to.equal(200)
      return answer.json.scores
    }

    for (const model of ['acme/cross', 'pair']) {
      it(`scores pairs with their token types, by ${model}`, async () => {
        expectClose(await scores({ model }), [0.62245933, 0.52497919, 0.64565632])
      })
    }

    it('answers logits on request', async () => {
      expectClose(await scores({ model: 'acme/cross', raw_scores: true }), [0.5, 0.1, 0.6])
    })

    it('uses the quantized variant unless the other is named', async () => {
      const sigmoid5 = 1 / (1 + Math.exp(-5))
      expectClose(await scores({ model: 'both' }), [sigmoid5, sigmoid5, sigmoid5])
      expectClose(await scores({ model: 'both:i8' }), [sigmoid5, sigmoid5, sigmoid5])
      const { json } = await server.get('/api/models')
      expect(json.rerankers).to.deep.equal(['acme/cross', 'both', 'both-i8', 'pair'])
    })

    for (const count of [1, 17, 300]) {
      it(`keeps the order of ${count} prompts of many lengths`, async () => {
        const many = Array.from({ length: count }, (_, i) => 'foo '.repeat((i * 7) % 40) + 'bar')
        const raw = await scores({ model: 'acme/cross', prompts: many, raw_scores: true })

        // Types are 1 for the document and its [SEP]: each foo is 7, bar 8, [SEP] 3.
        const expected = many.map((_, i) => (((i * 7) % 40) * 7 + 8 + 3) / 10 - 1)
        expectClose(raw, expected, 1e-4)
      })
    }
  })

  describe('chunk', () => {
    it('cuts with the built-in chunker, and caches the result', async () => {
      const config = { model: 'fixed', target_tokens: 4, overlap_tokens: 1, separator: ' ' }

      const first = await chunk(NUMBERS, config)
      const second = await chunk(NUMBERS, config)

      expect(first).to.deep.equal({
        chunks: [
          { id: 0, text: 'one two three four', start_char: 0, end_char: 18 },
          { id: 1, text: 'four five six seven', start_char: 14, end_char: 33 },
          { id: 2, text: 'seven eight nine ten', start_char: 28, end_char: 48 },
        ],
        model: 'fixed',
        cache_hit: false,
        truncated: false,
      })
      expect(second).to.deep.equal({ ...first, cache_hit: true })
    })

    it('says whether max_chunks left out the end of a text', async () => {
      const config = { model: 'fixed', target_tokens: 4, overlap_tokens: 1, separator: ' ' }

      const cut = await chunk(NUMBERS, { ...config, max_chunks: 2 })
      const whole = await chunk(NUMBERS, { ...config, max_chunks: 3 })

      expect([cut.chunks.length, cut.truncated]).to.deep.equal([2, true])
      expect([whole.chunks.length, whole.truncated]).to.deep.equal([3, false])
    })

    it('answers at most four times the characters of a text', async () => {
      const text = 'abcde '.repeat(18_192)
      const config = { target_tokens: 8192, max_chunks: 10_000, separator: ' ' }
      const ask = (overlap: number) =>
        server.post('/api/chunk', { text, config: { ...config, overlap_tokens: overlap } })

      const refused = await ask(4097)
      const { bytes, json } = await ask(4096)

      expect([refused.status, refused.json.code]).to.deep.equal([400, 'INVALID_ARGUMENT'])
      const chunks: readonly { text: string }[] = json.chunks
      const chars = chunks.reduce((sum, { text: part }) => sum + part.length, 0)
      expect(chars).to.be.at.most(4 * text.length)
      expect(bytes.length).to.be.at.most(5 * text.length)
    })

    it('cuts megabytes outside the main thread', async () => {
      const text = `${NUMBERS}. `.repeat(20_000)

      const { chunks } = await chunk(text, { max_chunks: 10_000, target_tokens: 100 })

      for (const { text: part, start_char: start, end_char: end } of chunks) {
        expect(text.slice(start, end)).to.equal(part)
      }
    })

    it('cuts at the borders that a model finds', async () => {
      const sentence = `${'hello world '.repeat(8)}.`
      const text = `${sentence} ${sentence} ${sentence}`

      const { chunks, model } = await chunk(text, { model: 'stops', target_tokens: 20 })

      expect(model).to.equal('stops')
      expect(chunks.length).to.be.greaterThan(1)
      for (const { text: part, start_char: start, end_char: end } of chunks) {
        expect(text.slice(start, end)).to.equal(part)
      }
    })

    it('falls back to the built-in chunker when a model fails, and reports it', async () => {
      const config = { target_tokens: 4, overlap_tokens: 0 }

      const failing = await chunk(NUMBERS, { ...config, model: 'failing' })
      const fixed = await chunk(NUMBERS, { ...config, model: 'fixed' })

      expect(failing.model).to.equal('fixed')
      expect(failing.chunks).to.deep.equal(fixed.chunks)
    })

    it('uses the built-in chunker without a model and under all of its names', async () => {
      expect((await chunk(NUMBERS)).model).to.equal('fixed')
      expect((await chunk(NUMBERS, { model: 'fixed-bert-tokenizer' })).model).to.equal('fixed')
    })
  })

  describe('recognize', () => {
    it("finds entities of the model's own labels", async () => {
      const { json } = await server.post('/api/recognize', {
        model: 'ner',
        texts: ['Alice works at Acme Corp in Paris.', 'foo'],
      })

      const score = Math.exp(4) / (Math.exp(4) + 6)
      const shown = json.entities[0].map((each: { score: number }) => ({
        ...each,
        score: Math.abs(each.score - score) < 1e-6,
      }))
      expect(shown).to.deep.equal([
        { text: 'Alice', label: 'PER', start: 0, end: 5, score: true },
        { text: 'Acme Corp', label: 'ORG', start: 15, end: 24, score: true },
        { text: 'Paris', label: 'LOC', start: 28, end: 33, score: true },
      ])
      expect(json.entities[1]).to.deep.equal([])
      expect(json).to.not.have.property('relations')
    })

    it('finds entities of the requested labels', async () => {
      const { json } = await server.post('/api/recognize', {
        model: 'gliner',
        texts: ['Alice works in Paris'],
        labels: ['a', 'b', 'a'],
      })

      const found = json.entities[0].map(({ text, label, start, end }: Record<string, unknown>) => [
        text,
        label,
        start,
        end,
      ])
      expect(found).to.deep.equal([
        ['Alice', 'a', 0, 5],
        ['in Paris', 'b', 12, 20],
      ])
      expectClose([json.entities[0][0].score], [0.98201379])
    })

    it('lists the capabilities of each model', async () => {
      const { json } = await server.get('/api/models')

      expect(json.recognizer_info).to.deep.equal({
        gliner: { capabilities: ['labels', 'zeroshot'] },
        ner: { capabilities: ['labels'] },
      })
      expect(json.extractors).to.deep.equal(['gliner'])
    })
  })

  it('rewrites each input separately', async () => {
    // Source ids 2 4 3: 9, 6, then the end.
    const { json } = await server.post('/api/rewrite', {
      model: 'sums',
      inputs: ['hello', 'foo bar', 'hello'],
    })
    const alone = await server.post('/api/rewrite', { model: 'sums', inputs: ['foo bar'] })

    expect(json.texts[0]).to.deep.equal(['.s'])
    expect(json.texts[2]).to.deep.equal(['.s'])
    expect(json.texts[1]).to.deep.equal(alone.json.texts[0])
  })

  describe('generate', () => {
    const chat = { messages: [{ role: 'user', content: 'hello' }], temperature: 0 }

    it('avoids repeated tokens under a penalty', async () => {
      const asked = { model: 'sums', ...chat, max_tokens: 4, repetition_penalty: 10 }
      const plain = await server.post('/api/generate', asked)
      const penalized = await server.post('/api/generate', {
        ...asked,
        frequency_penalty: 0.5,
        presence_penalty: 0.75,
      })

      // 6, 12, 6, 12. The largest logit is 10, and 1 for tokens that were there before; all others
      // are 0. So 1.25 less for 6 and 12 makes it the lowest ids, which are not shown: padding and
      // the unknown token.
      expect(plain.json.choices[0].message.content).to.equal('##s corps corp')
      expect(penalized.json.choices[0].message.content).to.equal('##s corp')
    })

    it('reports the probabilities of tokens in one answer and in a stream', async () => {
      const asked = { model: 'sums', ...chat, max_tokens: 3, logprobs: true, top_logprobs: 1 }
      const whole = await server.post('/api/generate', asked)
      const stream = await server.post('/api/generate', { ...asked, stream: true })

      const { content } = whole.json.choices[0].logprobs
      expect(content.map(({ token }: { token: string }) => token).join('')).to.equal('##s corps')
      const [first] = content
      const { top_logprobs: top, ...drawn } = first
      expect(first.bytes).to.deep.equal([...Buffer.from(first.token)])
      expect(first.logprob).to.be.closeTo(10 - Math.log(Math.exp(10) + 17), 1e-6)
      expect(top).to.deep.equal([drawn])
      const streamed = parseEvents(stream.bytes.toString())
        .slice(0, -1)
        .flatMap((data) => JSON.parse(data).choices[0].logprobs?.content ?? [])
      expect(streamed).to.deep.equal(content)
    })

    it("ends at any of the model's end tokens", async () => {
      const { json } = await server.post('/api/generate', { model: 'stops', ...chat })

      const tokens = (direction: string) =>
        server.metric(`quarry_inference_tokens_total{model="stops",direction="${direction}"}`)
      expect([await tokens('input'), await tokens('output')]).to.deep.equal([2, 1])
      // Ids 2 4 give 6, then 12, which ends it.
      expect(json.choices[0].finish_reason).to.equal('stop')
      expect(json.usage).to.deep.equal({ prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 })
    })

    it('streams events that end with [DONE] and give the same text as one answer', async () => {
      const asked = { model: 'sums', ...chat, max_tokens: 6 }
      const whole = await server.post('/api/generate', asked)
      const stream = await server.post('/api/generate', { ...asked, stream: true })

      const events = parseEvents(stream.bytes.toString())
      expect(stream.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8')
      expect(events.at(-1)).to.equal('[DONE]')
      const chunks = events.slice(0, -1).map((data) => JSON.parse(data))
      expect(chunks[0].choices[0].delta).to.deep.equal({ role: 'assistant' })
      expect(chunks.at(-1).choices[0].finish_reason).to.equal('length')
      const text = chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')
      expect(text).to.equal(whole.json.choices[0].message.content)
    })

    it('gives concurrent streams the same text as each gets alone', async () => {
      const texts = ['hello', 'world', 'foo', 'bar', 'alice', 'acme']
      const alone: string[] = []
      for (const text of texts) alone.push(await askBriefly(text))

      const together = await Promise.all(texts.map(askBriefly))

      expect(together).to.deep.equal(alone)
    })

    it('repeats its answer for the same seed', async () => {
      const asked = { model: 'sums', ...chat, temperature: 2, top_k: 0, seed: 7, max_tokens: 12 }

      const first = await server.post('/api/generate', asked)
      const second = await server.post('/api/generate', asked)

      expect(first.json.choices).to.deep.equal(second.json.choices)
    })

    it('ends its steps soon after the client has gone', async () => {
      const gone = new AbortController()
      const body = { model: 'endless', ...chat, max_tokens: 900_000, stream: true }
      const response = await fetch(`${server.url}/api/generate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: gone.signal,
      })
      await response.body!.getReader().read()

      gone.abort()

      // A stream that went on would keep its place; four of them would leave none.
      const { status } = await server.post('/api/generate', {
        model: 'sums',
        ...chat,
        max_tokens: 1,
      })
      expect(status).to.equal(200)
      for (let polls = 0; polls < 200; polls++) {
        if ((await server.metric('quarry_inference_requests_running')) === 0) return
      }
      expect.fail('the stream still holds its place')
    })

    const refusals: Readonly<Record<string, [object, string]>> = {
      'a forced function that is not there': [
        { tool_choice: { type: 'function', function: { name: 'none' } } },
        'no tool is called "none"',
      ],
      'a prompt beyond the context': [
        { messages: [{ role: 'user', content: 'hello '.repeat(600) }] },
        '512',
      ],
      'no messages': [{ messages: [] }, 'messages'],
      'a temperature below 0': [{ temperature: -1 }, 'temperature'],
      'more answers than one': [{ n: 2 }, 'n must be equal to one of the allowed values: 1, null'],
      'probabilities of the likeliest alone': [{ top_logprobs: 2 }, 'logprobs: true'],
      'a bias of tokens': [{ logit_bias: { 4: 1 } }, 'logit_bias'],
      'an answer that has to be JSON': [
        { response_format: { type: 'json_object' } },
        'response_format.type',
      ],
      'single tool calls alone': [{ parallel_tool_calls: false }, 'parallel_tool_calls'],
      'the old form of tools': [{ functions: [{ name: 'f' }] }, 'functions'],
    }
    for (const [what, [more, message]] of Object.entries(refusals)) {
      for (const stream of [false, true]) {
        it(`refuses ${what} with 400${stream ? ', streaming too' : ''}`, async () => {
          const body = { model: 'sums', ...chat, ...more, stream }
          const { status, json } = await server.post('/api/generate', body)

          expect(status).to.equal(400)
          expect(json.error).to.include(message)
        })
      }
    }
  })

  const refusals: Readonly<Record<string, [string, object, number, string]>> = {
    'an unknown reranker': ['rerank', { model: 'x', query: 'q', prompts: ['p'] }, 404, 'not found'],
    'no query': ['rerank', { model: 'pair', prompts: ['p'] }, 400, 'query is required'],
    'no prompts': ['rerank', { model: 'pair', query: 'q', prompts: [] }, 400, 'prompts'],
    'no text': ['chunk', {}, 400, 'text is required'],
    'an empty text': ['chunk', { text: '' }, 400, 'text'],
    'an unknown chunker': [
      'chunk',
      { text: 'a', config: { model: 'x' } },
      404,
      'the chunkers here are ',
    ],
    'overlap as large as the target': [
      'chunk',
      { text: 'a', config: { target_tokens: 4, overlap_tokens: 4 } },
      400,
      'overlap_tokens',
    ],
    'an unknown field': ['chunk', { text: 'a', more: 1 }, 400, 'unknown field'],
    'relations of a model without them': [
      'recognize',
      { model: 'ner', texts: ['a'], relation_labels: ['r'] },
      400,
      'relation_labels',
    ],
    'no texts': ['recognize', { model: 'ner', texts: [] }, 400, 'texts'],
    'no inputs': ['rewrite', { model: 'sums', inputs: [] }, 400, 'inputs'],
  }
  for (const [what, [task, body, status, message]] of Object.entries(refusals)) {
    it(`refuses ${what} with ${status}`, async () => {
      const answer = await server.post(`/api/${task}`, body)

      expect(answer.status).to.equal(status)
      expect(answer.json.error).to.include(message)
    })
  }
})

/** By the standard: events are separated by blank lines, lines with a colon in front are comments. */
function parseEvents(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) =>
      event
        .split('\n')
        .map((line) => line.replace(/^data: ?/, ''))
        .join('\n'),
    )
}

function expectClose(actual: readonly number[], expected: readonly number[], within = 1e-6): void {
  expect(actual).to.have.length(expected.length)
  expected.forEach((value, i) => expect(actual[i]).to.be.closeTo(value, within))
}
