import { expect } from 'chai'
import type { RerankerSpec } from '../../../../../inference/models/model-spec.ts'
import type { ModelRunner } from '../../../../../inference/pipelines/model-runner.ts'
import { costOfRerankItem } from '../../../../../inference/pipelines/rerank/rerank-item.ts'
import type {
  RerankItem,
  RerankResult,
} from '../../../../../inference/pipelines/rerank/rerank-item.ts'
import {
  openRerankRunner,
  scoreOfLogits,
} from '../../../../../inference/pipelines/rerank/rerank-runner.ts'
import { describeModelRunner } from '../../../../conformance/model-runner.ts'
import { crossEncoderGraph } from '../../../../support/inference/model-graphs.ts'
import {
  SPEC_BASE,
  resultsOf,
  runSignal,
  withRunnerParts,
} from '../../../../support/inference/runner-parts.ts'
import type { PartsOptions } from '../../../../support/inference/runner-parts.ts'

interface Setting {
  readonly graph?: Uint8Array
  readonly paddingSide?: 'left' | 'right'
  readonly maxTokens?: number
}

function partsOf({
  graph = crossEncoderGraph(),
  paddingSide = 'right',
  maxTokens = 512,
}: Setting): PartsOptions<RerankerSpec> {
  return {
    spec: { ...SPEC_BASE, kind: 'reranker', graphFile: 'model.onnx', maxTokens },
    files: { 'model.onnx': graph },
    tokenizerConfig: { pad_token: '[PAD]', padding_side: paddingSide },
  }
}

async function withRunner(
  setting: Setting,
  use: (runner: ModelRunner<RerankItem, RerankResult>) => Promise<void>,
): Promise<void> {
  await withRunnerParts(partsOf(setting), async (parts) => {
    const runner = await openRerankRunner(parts)
    await use(runner)
    await runner.dispose()
  })
}

function documents(...texts: string[]): RerankItem[] {
  return texts.map((document) => ({ query: 'hello', document }))
}

const KNOWN = documents('world foo', 'bar', 'hello .')
const KNOWN_LOGITS = [0.5, 0.1, 0.6]
const KNOWN_SCORES = [0.62245933, 0.52497919, 0.64565632]

describe('rerank runner', () => {
  for (const [name, setting] of Object.entries({
    'a free graph': {},
    'a graph of a fixed length': { graph: crossEncoderGraph({ length: 256 }) },
  })) {
    describeModelRunner(`rerank runner of ${name}`, {
      parts: partsOf(setting),
      open: openRerankRunner,
      served: [
        ...KNOWN,
        ...documents('', 'bar '.repeat(600)),
        { query: '', document: 'world' },
        { query: 'hello '.repeat(20), document: 'worlds \ud800 foo' },
      ],
      refused: [],
    })
  }

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

  it('scores an empty document', async () => {
    await withRunner({}, async (runner) => {
      const [empty] = resultsOf(await runner.run(documents(''), runSignal()))

      expect(empty!.rawScore).to.be.closeTo(3 / 10 - 1, 1e-6)
    })
  })

  it('takes the first of more than two logits', () => {
    expect(scoreOfLogits(Float32Array.of(2, 5, 7)).rawScore).to.equal(2)
  })

  it('estimates the cost of a pair from both texts', () => {
    expect(costOfRerankItem({ query: 'a'.repeat(40), document: 'b'.repeat(400) })).to.equal(113)
  })
})
