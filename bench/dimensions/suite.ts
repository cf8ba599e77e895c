import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { growth } from './growth.ts'
import { fieldsDimension } from './fields.ts'
import { readersDimension } from './readers.ts'
import { shardsDimension } from './shards.ts'
import { tablesDimension } from './tables.ts'

export const dimensionsSuite: SuiteEntry = {
  packages: ['classic-level'],
  takesDocuments: false,
  rowNames: ['tables', 'shards', 'fields', 'readers'],
  build: buildDimensionsSuite,
}

function buildDimensionsSuite(bench: Bench): Suite {
  return {
    rows: {
      tables: () => growth(bench, tablesDimension),
      shards: () => growth(bench, shardsDimension),
      fields: () => growth(bench, fieldsDimension),
      readers: () => growth(bench, readersDimension),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(), // every row ends its own processes
  }
}
