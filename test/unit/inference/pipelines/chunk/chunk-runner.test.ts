import { expect } from 'chai'
import type { ChunkerSpec } from '../../../../../inference/models/model-spec.ts'
import { costOfChunkItem } from '../../../../../inference/pipelines/chunk/chunk-item.ts'
import { openChunkRunner } from '../../../../../inference/pipelines/chunk/chunk-runner.ts'
import { buildChunkSettings } from '../../../../../inference/pipelines/builtin/chunk-settings.ts'
import { describeModelRunner } from '../../../../conformance/model-runner.ts'
import { failingGraph, tokenClassifierGraph } from '../../../../support/inference/model-graphs.ts'
import {
  SPEC_BASE,
  resultsOf,
  runSignal,
  withRunnerParts,
} from '../../../../support/inference/runner-parts.ts'
import type { PartsOptions } from '../../../../support/inference/runner-parts.ts'

function partsOf(graph: Uint8Array): PartsOptions<ChunkerSpec> {
  const labels = ['O', 'separator']
  return {
    spec: { ...SPEC_BASE, kind: 'chunker', graphFile: 'model.onnx', labels, maxTokens: 32 },
    files: { 'model.onnx': graph },
  }
}

describe('chunk runner', () => {
  // No space after the full stop: only the model knows that a sentence ends there.
  const sentence = `${'hello world foo bar '.repeat(4)}.`
  const text = sentence.repeat(4)
  const options = { targetTokens: 20, overlapTokens: 0 }

  async function chunk(graph: Uint8Array, threshold = 0.5) {
    const results: { chunkedBy: string; chunks: readonly string[] }[] = []
    await withRunnerParts(partsOf(graph), async (parts) => {
      const runner = await openChunkRunner(parts)
      const settings = buildChunkSettings({ ...options, threshold })
      const item = { text, settings }
      for (const result of resultsOf(await runner.run([item], runSignal()))) {
        const chunks = result.chunks.map(({ start, end }) => text.slice(start, end))
        results.push({ chunkedBy: result.chunkedBy, chunks })
      }
      await runner.dispose()
    })
    return results[0]!
  }

  describeModelRunner('chunk runner', {
    parts: partsOf(tokenClassifierGraph(2, { 9: 1 })),
    open: openChunkRunner,
    served: [
      { text, settings: buildChunkSettings(options) },
      { text, settings: buildChunkSettings({ ...options, targetTokens: 40 }) },
      { text: '', settings: buildChunkSettings({}) },
      { text: 'hello world', settings: buildChunkSettings({}) },
      { text: text.slice(1), settings: buildChunkSettings({ ...options, threshold: 1 }) },
    ],
    refused: [{ text: 'hello '.repeat(40_000), settings: buildChunkSettings({}) }],
  })

  it('finds borders in every window of a text', async () => {
    const { chunkedBy, chunks } = await chunk(tokenClassifierGraph(2, { 9: 1 }))

    expect(chunkedBy).to.equal('model')
    expect(chunks).to.deep.equal([sentence, sentence, sentence, sentence])
  })

  it('takes a border only from the threshold on', async () => {
    const probability = Math.exp(4) / (Math.exp(4) + 1)

    const below = await chunk(tokenClassifierGraph(2, { 9: 1 }), probability - 0.01)
    const above = await chunk(tokenClassifierGraph(2, { 9: 1 }), probability + 0.01)

    expect(below.chunks).to.have.length(4)
    expect(above.chunks).to.not.deep.equal(below.chunks)
  })

  it('refuses a text on which the graph fails', async () => {
    await withRunnerParts(partsOf(failingGraph()), async (parts) => {
      const runner = await openChunkRunner(parts)
      const items = [{ text, settings: buildChunkSettings(options) }]

      const [outcome] = await runner.run(items, runSignal())

      expect(outcome).to.include({ kind: 'refused', code: 'INFERENCE_FAILED' })
      await runner.dispose()
    })
  })

  it('estimates the cost from the length', () => {
    expect(costOfChunkItem({ text: 'a'.repeat(400), settings: buildChunkSettings({}) })).to.equal(
      102,
    )
  })
})
