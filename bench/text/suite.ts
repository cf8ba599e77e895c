import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { ArticleStore } from './article-store.ts'
import { comparedSearches } from './compared-searches.ts'
import { httpSearches } from './http-searches.ts'
import { indexSize, servedMemory } from './index-cost.ts'
import { indexedIngest } from './indexed-ingest.ts'
import { peerIngest } from './peer-ingest.ts'
import { peerSearches } from './peer-searches.ts'
import { searchesWhileIngesting } from './searches-while-ingesting.ts'
import { smallerIndex } from './smaller-index.ts'

export const textSuite: SuiteEntry = {
  packages: ['minisearch'],
  rowNames: [
    'search',
    'lucene',
    'smaller',
    'ingest',
    'lucene-ingest',
    'load',
    'memory',
    'size',
    'while-ingesting',
  ],
  takesDocuments: true,
  build: buildTextSuite,
}

function buildTextSuite(bench: Bench): Suite {
  const store = new ArticleStore(bench)
  return {
    rows: {
      search: () => comparedSearches(bench),
      lucene: () => peerSearches(bench),
      smaller: () => smallerIndex(bench),
      ingest: () => indexedIngest(bench),
      'lucene-ingest': () => peerIngest(bench),
      load: () => httpSearches(bench, store),
      memory: () => servedMemory(bench, store),
      size: () => indexSize(bench, store),
      'while-ingesting': () => searchesWhileIngesting(bench, store),
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}
