// The known answers of embedding. The graph's hidden state of token v is [v, 1, -v, v*v/4], so every
// expected number below can be computed by hand from token ids.

import path from 'node:path'
import { expect } from 'chai'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { writeTinyEmbedder, writeTinyReranker } from '../support/inference/model-directories.ts'

const JSON_ONLY = { accept: 'application/json' }
const TINY = 'acme/tiny'
const HELLO = [0.54815096, 0.13703774, -0.54815096, 0.61666983]
const FOO = [0.51771772, 0.12942943, -0.51771772, 0.6687187]

describe('POST /api/embed', () => {
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start(async (root) => {
      const at = (name: string) => path.join(root, 'embedders', name)
      await writeTinyEmbedder(at(TINY))
      await writeTinyEmbedder(at('cls'), { pooling: 'cls' })
      await writeTinyEmbedder(at('last'), { pooling: 'last-token' })
      await writeTinyEmbedder(at('left'), { pooling: 'last-token', paddingSide: 'left' })
      await writeTinyEmbedder(at('left-mean'), { paddingSide: 'left' })
      await writeTinyEmbedder(at('short'), { maxLength: 4 })
      await writeTinyEmbedder(at('bare'), { inputs: [] })
      await writeTinyEmbedder(at('typed'), { inputs: ['attention_mask', 'token_type_ids'] })
      await writeTinyEmbedder(at('placed'), { inputs: ['attention_mask', 'position_ids'] })
      await writeTinyEmbedder(at('int32'), { integers: 'int32' })
      await writeTinyEmbedder(at('half'), { floats: 'float16' })
      await writeTinyEmbedder(at('single'), { batch: 1 })
      await writeTinyEmbedder(at('fixed'), { length: 8 })
      await writeTinyEmbedder(at('fixed-single'), { batch: 1, length: 8 })
      await writeTinyEmbedder(at('long-rows'), { length: 256 })
      await writeTinyEmbedder(at('fixed-left'), { length: 8, paddingSide: 'left' })
      await writeTinyEmbedder(at('pooled'), { output: 'sentence_embedding' })
      await writeTinyEmbedder(at('zero'), { scale: 0 })
      await writeTinyReranker(path.join(root, 'rerankers/cross'))
    })
  })

  after(() => server[Symbol.asyncDispose]())

  async function vectors(model: string, input: unknown, more = {}): Promise<number[][]> {
    const answer = await server.post('/api/embed', { model, input, ...more }, JSON_ONLY)
    expect(answer.status, answer.bytes.toString()).to.equal(200)
    return answer.json.embeddings
  }

  it("pools the mean of a text's own tokens, whatever texts share its batch", async () => {
    const [hello, foo] = await vectors(TINY, ['hello worlds', 'foo'])

    expectClose(hello, HELLO)
    expectClose(foo, FOO)
  })

  it('pools as the model directory says', async () => {
    expectClose(
      (await vectors('cls', 'hello worlds'))[0],
      [0.63245553, 0.31622776, -0.63245553, 0.31622776],
    )
    expectClose(
      (await vectors('last', 'hello worlds'))[0],
      [0.61157662, 0.20385888, -0.61157662, 0.45868248],
    )
  })

  for (const name of ['left', 'left-mean']) {
    it(`pads on the left for ${name} and answers the same`, async () => {
      const reference = name === 'left' ? 'last' : TINY
      const [alone] = await vectors(reference, 'foo')

      const [, beside] = await vectors(name, ['hello worlds hello worlds', 'foo'])

      expectClose(beside, alone!)
    })
  }

  const likes = ['bare', 'typed', 'placed', 'int32', 'single']
  for (const name of [...likes, 'fixed', 'fixed-single', 'fixed-left']) {
    it(`feeds a graph of the kind "${name}"`, async () => {
      const [hello, foo] = await vectors(name, ['hello worlds', 'foo'])

      expectClose(hello, HELLO)
      expectClose(foo, FOO)
    })
  }

  it('reads half-precision outputs', async () => {
    expectClose((await vectors('half', 'hello worlds'))[0], HELLO, 1e-3)
  })

  it('takes sentence_embedding as it is', async () => {
    // The largest of each column over 2 4 5 6 3: 6, 1, -2, 9.
    const norm = Math.hypot(6, 1, 2, 9)
    expectClose((await vectors('pooled', 'hello worlds'))[0], [
      6 / norm,
      1 / norm,
      -2 / norm,
      9 / norm,
    ])
  })

  it('answers zeros for a state of zeros', async () => {
    expect(await vectors('zero', 'hello')).to.deep.equal([[0, 0, 0, 0]])
  })

  it('answers binary by default: count, dimension, rows, little-endian', async () => {
    const { bytes, headers } = await server.post('/api/embed', {
      model: TINY,
      input: ['hello worlds', 'foo'],
    })

    expect(headers.get('content-type')).to.equal('application/octet-stream')
    expect(bytes.toString('hex')).to.equal(
      '02000000000000000400000000000000' +
        '9f530c3f9f530c3e9f530cbf13de1d3f2689043f2689043e268904bf26312b3f',
    )
  })

  const accepts: Readonly<Record<string, 'json' | 'binary'>> = {
    '*/*': 'binary',
    'application/octet-stream': 'binary',
    'application/json': 'json',
    'application/json, */*;q=0.1': 'json',
    'application/json;q=0': 'binary',
    'application/octet-stream, application/json;q=0.5': 'binary',
    'text/plain, application/json;charset=utf-8': 'json',
    'nonsense;;q=x,,': 'binary',
  }
  for (const [accept, expected] of Object.entries(accepts)) {
    it(`answers ${expected} to Accept: ${accept}`, async () => {
      const { headers } = await server.post('/api/embed', { model: TINY, input: 'foo' }, { accept })

      const type = expected === 'json' ? 'application/json' : 'application/octet-stream'
      expect(headers.get('content-type')).to.equal(type)
    })
  }

  it('prints numbers that parse to the same 32-bit floats', async () => {
    const body = { model: TINY, input: ['hello worlds', 'foo'] }
    const { bytes } = await server.post('/api/embed', body)
    const { json } = await server.post('/api/embed', body, JSON_ONLY)

    const floats = new Float32Array(new Uint8Array(bytes.subarray(16)).buffer)
    expect([...floats]).to.deep.equal(json.embeddings.flat().map(Math.fround))
  })

  it('keeps leading dimensions and brings them back to length 1', async () => {
    expectClose(
      (await vectors(TINY, 'hello worlds', { dimensions: 2 }))[0],
      [0.9701425, 0.24253563],
    )
    const { status } = await server.post('/api/embed', { model: TINY, input: 'a', dimensions: 5 })
    expect(status).to.equal(400)
  })

  it('embeds a text alike alone, first, last, twice and in a batch with a long one', async () => {
    const long = 'hello worlds foo bar '.repeat(50)
    const [alone] = await vectors('typed', 'alice works')

    const rows = await vectors('placed', ['alice works', long, 'foo', 'alice works'])
    const beside = await vectors('int32', [long, 'alice works'])

    for (const row of [rows[0], rows[3], beside[1]]) expectClose(row, alone!, 1e-6)
  })

  it('cuts texts that are too long before the end token, or refuses them', async () => {
    // 2 4 5 3: [CLS] hello world [SEP].
    expectClose((await vectors('short', 'hello worlds'))[0], mean([2, 4, 5, 3]))
    const { status, json } = await server.post('/api/embed', {
      model: 'short',
      input: ['foo', 'hello worlds'],
      truncate: false,
    })
    expect(status).to.equal(400)
    expect(json.error).to.include('exceeds the context length')
  })

  it('cuts to the length that a graph is fixed to', async () => {
    const long = 'hello worlds foo bar paris hello'

    expectClose((await vectors('fixed', long))[0], mean([2, 4, 5, 6, 7, 8, 13, 3]))
    const { status, json } = await server.post('/api/embed', {
      model: 'fixed-single',
      input: long,
      truncate: false,
    })
    expect(status).to.equal(400)
    expect(json.error).to.include('exceeds the context length of 8 tokens')
  })

  it('runs few rows at once of a graph that pads them to a large fixed size', async () => {
    const batches = 'quarry_inference_batch_items_count{model="long-rows"}'

    const rows = await vectors('long-rows', ['hello', 'world', 'foo', 'bar', 'paris', 'corp'])

    // Two times 256 tokens are a whole batch.
    expect(await server.metric(batches)).to.equal(3)
    expectClose(rows[2], FOO)
  })

  it('answers with the members that clients of Ollama read', async () => {
    const { json } = await server.post(
      '/api/embed',
      { model: TINY, input: 'hello worlds', keep_alive: '5m', options: { num_ctx: 1 } },
      JSON_ONLY,
    )

    expect(json).to.include({ model: TINY, prompt_eval_count: 5 })
    expect(json.total_duration).to.be.greaterThan(0)
    expect(json.load_duration).to.be.at.least(0)
  })

  it('embeds with the built-in model, which is always available', async () => {
    const [one, two] = await vectors('builtin-hash', ['high water', 'low water'])

    expect(one).to.have.length(384)
    expect(Math.hypot(...one!)).to.be.closeTo(1, 1e-6)
    expect(one).to.not.deep.equal(two)
  })

  it('embeds megabytes with the built-in model outside the main thread', async () => {
    const text = 'the tide is high '.repeat(20_000)

    const [small, large] = await vectors('builtin-hash', ['the tide is high', text])

    expect(large).to.have.length(384)
    expect(small).to.have.length(384)
  })

  const pngPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const refusals: Readonly<Record<string, [unknown, number, string]>> = {
    'no model': [{ input: 'a' }, 400, 'model is required'],
    'an empty name': [{ model: '', input: 'a' }, 400, 'model'],
    'an unknown model': [{ model: 'none', input: 'a' }, 404, 'model not found'],
    'no input': [{ model: TINY }, 400, 'input is required'],
    null: [{ model: TINY, input: null }, 400, 'input must be a string'],
    'an empty list': [{ model: TINY, input: [] }, 400, 'input must be a string'],
    'a number in a list': [{ model: TINY, input: [1] }, 400, 'input must be a string'],
    'an empty text': [{ model: TINY, input: '' }, 400, 'input is empty'],
    'an empty text in a list': [{ model: TINY, input: ['a', ''] }, 400, 'input[1] is empty'],
    'texts and parts': [{ model: TINY, input: ['a', pngPart] }, 400, 'input must be a string'],
    'an image to a text model': [{ model: TINY, input: [pngPart] }, 400, 'embeds only text'],
    'an unknown kind of part': [{ model: TINY, input: [{ type: 'sound' }] }, 400, 'input'],
    'a bad keep_alive': [{ model: TINY, input: 'a', keep_alive: 'soon' }, 400, 'keep_alive'],
    'no JSON': ['{x', 400, 'not JSON'],
    'no body': ['', 400, 'body is empty'],
  }
  for (const [what, [body, status, message]] of Object.entries(refusals)) {
    it(`refuses ${what} with ${status}, in JSON`, async () => {
      const answer = await server.post('/api/embed', body)

      expect(answer.status).to.equal(status)
      expect(answer.json.error).to.include(message)
      expect(answer.json.code).to.equal(status === 404 ? 'NOT_FOUND' : 'INVALID_ARGUMENT')
    })
  }

  it('refuses other content types with 415 and bodies over the limit with 413', async () => {
    const plain = await server.post('/api/embed', 'a', { 'content-type': 'text/plain' })
    const large = await server.post('/api/embed', { model: TINY, input: 'a'.repeat(33 * 2 ** 20) })

    expect([plain.status, plain.json.code]).to.deep.equal([415, 'UNSUPPORTED_MEDIA_TYPE'])
    expect([large.status, large.json.code]).to.deep.equal([413, 'PAYLOAD_TOO_LARGE'])
  })
})

/** The normalized mean of the hidden states of tokens. */
function mean(ids: readonly number[]): number[] {
  const sum = [0, 1, 2, 3].map((i) =>
    ids.reduce((total, v) => total + [v, 1, -v, (v * v) / 4][i]!, 0),
  )
  return sum.map((x) => x / Math.hypot(...sum))
}

function expectClose(
  actual: readonly number[] | undefined,
  expected: readonly number[],
  within = 1e-6,
) {
  expect(actual).to.have.length(expected.length)
  expected.forEach((value, i) => expect(actual![i]).to.be.closeTo(value, within))
}
