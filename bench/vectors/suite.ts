import type { RowResult } from '../report/finding.ts'
import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { sparseRow } from './sparse-bench.ts'
import { VectorBench } from './vector-bench.ts'

export const vectorsSuite: SuiteEntry = {
  packages: ['usearch'],
  rowNames: [
    'ingest',
    'search',
    'peers',
    'filters',
    'http',
    'hybrid',
    'building',
    'replaced',
    'start',
    'memory',
    'sparse',
  ],
  takesDocuments: true,
  build: buildVectorsSuite,
}

/** The documents are written when the first row runs. */
function buildVectorsSuite(bench: Bench): Suite {
  let made: VectorBench | undefined
  const row = (run: (vectors: VectorBench) => Promise<RowResult>) => async () => {
    made ??= await VectorBench.open(bench)
    return run(made)
  }
  return {
    rows: {
      ingest: row((vectors) => vectors.ingest()),
      search: row((vectors) => vectors.search()),
      peers: row((vectors) => vectors.peers()),
      filters: row((vectors) => vectors.filters()),
      http: row((vectors) => vectors.http()),
      hybrid: row((vectors) => vectors.hybrid()),
      building: row((vectors) => vectors.building()),
      replaced: row((vectors) => vectors.replaced()),
      start: row((vectors) => vectors.start()),
      memory: row((vectors) => vectors.memory()),
      sparse: async () => sparseRow(bench),
    },
    async [Symbol.asyncDispose]() {
      made?.[Symbol.dispose]()
    },
  }
}
