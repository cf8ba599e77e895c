import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { bulkIngest } from './bulk-ingest.ts'
import { cleanStart } from './clean-start.ts'
import { fullScan } from './full-scan.ts'
import { growth } from './growth.ts'
import { keyLookups } from './key-lookups.ts'
import { LargeStore } from './large-store.ts'
import { loadedMemory } from './loaded-memory.ts'
import { singleWrites } from './single-writes.ts'
import { writeLatencies } from './write-latencies.ts'

export const documentsSuite: SuiteEntry = {
  packages: ['classic-level', 'lmdb'],
  rowNames: ['ingest', 'writes', 'lookups', 'latencies', 'scan', 'memory', 'growth', 'start'],
  takesDocuments: false,
  build: buildDocumentsSuite,
}

function buildDocumentsSuite(bench: Bench): Suite {
  const large = new LargeStore(bench)
  return {
    rows: {
      ingest: () => bulkIngest(bench),
      writes: () => singleWrites(bench),
      lookups: () => keyLookups(bench),
      latencies: () => writeLatencies(bench),
      scan: () => fullScan(bench),
      memory: () => loadedMemory(large),
      growth: () => growth(bench, large),
      start: () => cleanStart(bench, large),
    },
    [Symbol.asyncDispose]: () => large[Symbol.asyncDispose](),
  }
}
