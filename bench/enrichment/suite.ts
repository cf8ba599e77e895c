import { InferenceWorld } from '../inference/inference-server.ts'
import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { backfill } from './backfill.ts'
import { ingestOfArticles, ingestOfSentences } from './ingest.ts'

export const enrichmentSuite: SuiteEntry = {
  packages: ['usearch', 'onnxruntime-node'],
  takesDocuments: true,
  rowNames: ['sentences', 'articles', 'backfill'],
  build: buildEnrichmentSuite,
}

function buildEnrichmentSuite(bench: Bench): Suite {
  const world = new InferenceWorld(bench)
  return {
    rows: {
      sentences: () => ingestOfSentences(bench, world),
      articles: () => ingestOfArticles(bench, world),
      backfill: () => backfill(bench, world),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(), // every row ends its own processes
  }
}
