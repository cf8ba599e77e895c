// The embedder that ships with the product, served by a server without a models directory.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import { expectKnown, readKnownVectors } from '../support/inference/known-vectors.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'

const MODEL = 'quarry-static-en'
const DIMENSION = 208

/** Each question shares hardly a word with its description. */
const QUESTIONS: readonly (readonly [question: string, description: string])[] = [
  ['How do I get rid of a headache?', 'Painkillers and rest against aches of the skull'],
  ['cheap place to sleep in Paris', 'Budget hotels in the capital of France'],
  ['my automobile will not start', 'Troubleshooting a car engine with a dead battery'],
  ['teach a puppy to sit', 'Training young dogs: first commands'],
  ['grow vegetables at home', 'Kitchen gardens: planting carrots, beans and lettuce'],
  ['how to save money for old age', 'Pension plans and retirement funds'],
  ['baking bread without wheat', 'Gluten-free loaves from rice and corn flour'],
  ['fix a leaking tap', 'Plumbing repairs: dripping faucets and pipes'],
  ['learn to play a musical instrument', 'Guitar and piano lessons for beginners'],
  ['when does the sun go down', 'Tables of sunrise, sunset and twilight'],
]
const OTHER_DESCRIPTIONS = [
  'Compilers and linkers for embedded processors',
  'A history of medieval castles',
  'Football results of the last season',
  'Chess openings for advanced players',
  'Formulas of inorganic chemistry',
]

describe('quarry-static-en', () => {
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start()
  })

  after(() => server[Symbol.asyncDispose]())

  async function embed(input: readonly string[], model = MODEL): Promise<Float32Array[]> {
    const answer = await server.post('/api/embed', { model, input })
    expect(answer.status, answer.bytes.toString().slice(0, 200)).to.equal(200)
    const { bytes } = answer
    const count = Number(bytes.readBigUInt64LE(0))
    const dimension = Number(bytes.readBigUInt64LE(8))
    expect(count).to.equal(input.length)
    return input.map((_, row) => {
      const start = 16 + row * dimension * 4
      return Float32Array.from({ length: dimension }, (__, at) => bytes.readFloatLE(start + at * 4))
    })
  }

  it('is listed by all three APIs', async () => {
    const own = await server.get('/api/models')
    const ollama = await server.get('/api/tags')
    const openai = await server.get('/v1/models')

    expect(own.json.embedders).to.include(MODEL)
    expect(ollama.json.models.map(({ name }: { name: string }) => name)).to.include(MODEL)
    expect(openai.json.data.map(({ id }: { id: string }) => id)).to.include(MODEL)
  })

  it('answers known vectors of length 1', async () => {
    const answers = await readKnownVectors(MODEL)

    const vectors = await embed(answers.map(({ text }) => text))

    expect(answers).to.have.length(19)
    answers.forEach((answer, row) => {
      const vector = must(vectors[row], 'a vector for each text')
      expect(vector).to.have.length(DIMENSION)
      expectKnown([...vector], answer)
    })
  })

  it('answers a text with the same bits, alone and in batches of every size', async () => {
    const random = seededRandom(20_261_123)
    const texts = Array.from({ length: 60 }, (_, index) => {
      const words = Array.from({ length: 1 + Math.floor(random() * 40) }, () =>
        must(WORDS[Math.floor(random() * WORDS.length)], 'a word'),
      )
      return `${words.join(' ')} ${index}`
    })
    const alone: Float32Array[] = []
    for (const text of texts) alone.push(must((await embed([text]))[0], 'a vector'))

    // Another prefix of white space is another text to the cache, and none to the model.
    for (const size of [2, 3, 7, 31, 60]) {
      const batch = texts.slice(0, size).map((text) => ' '.repeat(size) + text)
      const together = await embed(batch)

      expect(together).to.deep.equal(alone.slice(0, size))
    }
  }).timeout(30_000)

  it('finds what a question means where no word is shared', async () => {
    const descriptions = [...QUESTIONS.map(([, description]) => description), ...OTHER_DESCRIPTIONS]

    const known = await firstRight(MODEL, descriptions)
    const lexical = await firstRight('builtin-hash', descriptions)

    expect(known).to.be.at.least(9)
    expect(lexical).to.be.at.most(5)
  })

  async function firstRight(model: string, descriptions: readonly string[]): Promise<number> {
    const found = await embed(descriptions, model)
    const asked = await embed(
      QUESTIONS.map(([question]) => question),
      model,
    )
    return asked.filter((question, index) => {
      const scores = found.map((vector) => cosine(question, vector))
      return scores.indexOf(Math.max(...scores)) === index
    }).length
  }

  it('reads 512 tokens of a text, and refuses more when it may not cut', async () => {
    const text = 'tide '.repeat(600)
    const [whole, cut] = await embed([text, 'tide '.repeat(510)])

    const refused = await server.post('/api/embed', { model: MODEL, input: text, truncate: false })

    expect(whole).to.deep.equal(cut)
    expect([refused.status, refused.json.code]).to.deep.equal([400, 'INVALID_ARGUMENT'])
    expect(refused.json.error).to.include('512 tokens')
  })
})

const WORDS = (
  'tide chart harbour vessel lamp winter market unforgettable bridge Zürich captain window river ' +
  'engine 42 e-mail électricité the of'
).split(' ')

function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0)
}
