import { expect } from 'chai'
import type { RerankerSpec } from '../../inference/models/model-spec.ts'
import type { ModelRunner } from '../../inference/pipelines/model-runner.ts'
import { costOfRerankItem } from '../../inference/pipelines/rerank/rerank-item.ts'
import type { RerankItem, RerankResult } from '../../inference/pipelines/rerank/rerank-item.ts'
import { openRerankRunner, scoreOfLogits } from '../../inference/pipelines/rerank/rerank-runner.ts'
import { seededRandom } from '../../lib/random.ts'
import { crossEncoderGraph } from '../harness/model-graphs.ts'
import { SPEC_BASE, resultsOf, runSignal, withRunnerParts } from '../harness/runner-parts.ts'

interface Setting {
  readonly graph?: Uint8Array
  readonly paddingSide?: 'left' | 'right'
  readonly maxTokens?: number
}

async function withRunner(
  { graph = crossEncoderGraph(), paddingSide = 'right', maxTokens = 512 }: Setting,
  use: (runner: ModelRunner<RerankItem, RerankResult>) => Promise<void>,
): Promise<void> {
  await withRunnerParts<RerankerSpec>(
    {
      spec: { ...SPEC_BASE, kind: 'reranker', graphFile: 'model.onnx', maxTokens },
      files: { 'model.onnx': graph },
      tokenizerConfig: { pad_token: '[PAD]', padding_side: paddingSide },
    },
    async (parts) => {
      const runner = await openRerankRunner(parts)
      await use(runner)
      await runner.dispose()
    },
  )
}

function documents(...texts: string[]): RerankItem[] {
  return texts.map((document) => ({ query: 'hello', document }))
}

const KNOWN = documents('world foo', 'bar', 'hello .')
const KNOWN_LOGITS = [0.5, 0.1, 0.6]
const KNOWN_SCORES = [0.62245933, 0.52497919, 0.64565632]

describe('rerank runner', () => {
  for (const [name, setting] of Object.entries({
    'one logit': {},
    'two labels': { graph: crossEncoderGraph({ labels: 2 }) },
    'padding on the left': { paddingSide: 'left' as const },
    'a graph of a fixed length': { graph: crossEncoderGraph({ length: 12 }) },
  })) {
    it(`scores pairs by ${name}`, async () => {
      await withRunner(setting, async (runner) => {
        const results = resultsOf(await runner.run(KNOWN, runSignal()))

        for (const [index, { score, rawScore }] of results.entries()) {
          expect(rawScore).to.be.closeTo(KNOWN_LOGITS[index]!, 1e-6)
          expect(score).to.be.closeTo(KNOWN_SCORES[index]!, 1e-6)
        }
      })
    })
  }

  it('scores a document alike alone and beside others, in order', async () => {
    const random = seededRandom(7)
    const words = ['hello', 'worlds', 'foo', 'bar', '.']
    const items = Array.from({ length: 60 }, () => {
      const length = Math.floor(random() * 30)
      const picked = Array.from({ length }, () => words[Math.floor(random() * words.length)])
      return { query: 'hello', document: picked.join(' ') }
    })

    await withRunner({}, async (runner) => {
      const together = resultsOf(await runner.run(items, runSignal()))

      for (const [index, item] of items.entries()) {
        const [alone] = resultsOf(await runner.run([item], runSignal()))
        expect(together[index]!.rawScore).to.be.closeTo(alone!.rawScore, 1e-5)
      }
    })
  })

  const limits = { model: { maxTokens: 6 }, graph: { graph: crossEncoderGraph({ length: 6 }) } }
  for (const [name, setting] of Object.entries(limits)) {
    it(`cuts a long document to the limit of the ${name}, but not the end`, async () => {
      await withRunner(setting, async (runner) => {
        const [cut] = resultsOf(await runner.run(documents('world foo bar bar bar'), runSignal()))
        const [short] = resultsOf(await runner.run(documents('world foo'), runSignal()))

        expect(cut!.rawScore).to.be.closeTo(short!.rawScore, 1e-6)
      })
    })
  }

  it('gives an empty document its own place', async () => {
    await withRunner({}, async (runner) => {
      const [empty] = resultsOf(await runner.run(documents(''), runSignal()))

      expect(empty!.rawScore).to.be.closeTo(3 / 10 - 1, 1e-6)
    })
  })

  it('stops before a run once it is aborted', async () => {
    await withRunner({}, async (runner) => {
      const error = await runner
        .run(KNOWN, AbortSignal.abort(new Error('gone')))
        .catch((caught: unknown) => caught)
      expect(error).to.have.property('message', 'gone')
    })
  })

  it('takes the first of more than two logits', () => {
    expect(scoreOfLogits(Float32Array.of(2, 5, 7)).rawScore).to.equal(2)
  })

  it('estimates the cost of a pair from both texts', () => {
    expect(costOfRerankItem({ query: 'a'.repeat(40), document: 'b'.repeat(400) })).to.equal(113)
  })
})
