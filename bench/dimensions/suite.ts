import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { growth } from './growth.ts'
import { fieldsDimension } from './fields.ts'
import { idsDimension } from './ids.ts'
import { readersDimension } from './readers.ts'
import { shardsDimension } from './shards.ts'
import { tablesDimension } from './tables.ts'
import { valuesDimension } from './values.ts'

export const dimensionsSuite: SuiteEntry = {
  packages: ['classic-level'],
  takesDocuments: false,
  rowNames: ['tables', 'shards', 'fields', 'readers', 'values', 'ids'],
  build: buildDimensionsSuite,
}

function buildDimensionsSuite(bench: Bench): Suite {
  return {
    rows: {
      tables: () => growth(bench, tablesDimension),
      shards: () => growth(bench, shardsDimension),
      fields: () => growth(bench, fieldsDimension),
      readers: () => growth(bench, readersDimension),
      values: () => growth(bench, valuesDimension),
      ids: () => growth(bench, idsDimension),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(), // every row ends its own processes
  }
}
