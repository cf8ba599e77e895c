import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { againstTransformers } from './against-transformers.ts'
import { InferenceWorld } from './inference-server.ts'
import { loadCycles } from './load-cycles.ts'
import { healthUnderLoad, shortQueries } from './responsiveness.ts'
import { equalLengths, mixedTexts } from './throughput.ts'

export const inferenceSuite: SuiteEntry = {
  packages: ['onnxruntime-node', '@huggingface/tokenizers'],
  takesDocuments: false,
  rowNames: ['equal', 'mixed', 'health', 'query', 'cycles', 'transformers'],
  build: buildInferenceSuite,
}

function buildInferenceSuite(bench: Bench): Suite {
  const world = new InferenceWorld(bench)
  return {
    rows: {
      equal: () => equalLengths(bench, world),
      mixed: () => mixedTexts(bench, world),
      health: () => healthUnderLoad(bench, world),
      query: () => shortQueries(bench, world),
      cycles: () => loadCycles(bench, world),
      transformers: () => againstTransformers(bench, world),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(), // every row ends its own processes
  }
}
