// A shortcut for an order, a hash or an equality is the thing itself, or says why it need not be. This finds
// the functions that are named like one: a new one is listed here with what shows that it is right.

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const NAMED =
  /\bfunction\*? (compare(?:[A-Z]\w*)?|by[A-Z]\w*|orderOf\w*|firstAtLeast|lowerBound|upperBound\w*|endOfPrefix|hashOf\w*|rankOf\w*)\b/g

const ORDERS = 'test/unit/node/index/text/encoding/order-shortcuts.test.ts'
const OF_KEYS = 'scores or distances, then Buffer.compare of keys'
const OF_NUMBERS = 'compares numbers alone'
const VERIFIED = 'a hash that finds candidates, which are compared whole'

/** By file and function: the test that holds it to its order, or why it needs none. */
const JUDGED: Readonly<Record<string, string>> = {
  'cli/cluster/cluster-view.ts byTable': 'for the eyes of a reader alone',
  'cli/service/key-prefix.ts compareKeys': ORDERS,
  'cli/service/key-prefix.ts endOfPrefix': ORDERS,
  'node/coordination/election.ts byAge': OF_NUMBERS,
  'node/coordination/etcd/etcd-requests.ts compareEqual': 'makes a request, and compares nothing',
  'node/transactions/writes/linear-merge.ts compare':
    'walks two lists of keys in the order of Buffer.compare',
  'node/search/hits/nearest-searcher.ts compareNearest': OF_KEYS,
  'node/search/hits/rerank-hits.ts compareScored': OF_KEYS,
  'node/document/batch-body.ts compareKeys': 'Buffer.compare of keys',
  'node/document/decimal.ts compareDecimals': 'test/unit/node/document/decimal.test.ts',
  'node/document/decimal.ts compareExactly': 'doubles, then compareDecimals',
  'node/document/json-number.ts compareNumbers': 'compares exact numbers by their decimals',
  'node/document/name-hash.ts hashOfBytes': VERIFIED,
  'node/document/name-hash.ts hashOfName': VERIFIED,
  'node/embedding/artifact.ts hashOf': 'SHA-256 of the content',
  'node/embedding/vector-forms.ts orderOf': OF_NUMBERS,
  'node/enrichment/document-enricher.ts hashOfRefusal': 'SHA-256 of the content',
  'node/index/host/lost-questions.ts hashOf': 'SHA-256 of the content',
  'node/index/rows/radix-sort.ts firstAtLeast': ORDERS,
  'node/index/rows/radix-sort.ts orderOf': ORDERS,
  'node/index/rows/row-table.ts hashOfKey': VERIFIED,
  'node/index/rows/rows-merge-policy.ts bySize': OF_NUMBERS,
  'node/index/text/aggregation/aggregation-partial.ts byCount': 'counts, then compareBucketKeys',
  'node/index/text/aggregation/aggregation-partial.ts compareBucketKeys': ORDERS,
  'node/index/text/aggregation/significant-terms.ts bySignificance':
    'scores, then compareBucketKeys',
  'node/index/text/encoding/compare-texts.ts compareTexts': ORDERS,
  'node/index/text/encoding/compare-texts.ts endOfPrefix': ORDERS,
  'node/index/text/encoding/compare-texts.ts orderOfUnits': ORDERS,
  'node/index/text/encoding/compare-texts.ts rankOfUnit': ORDERS,
  'node/index/text/highlight/highlight-fragments.ts compareFragments': OF_NUMBERS,
  'node/index/text/matching/compare-sort-values.ts compareAscending': ORDERS,
  'node/index/text/matching/compare-sort-values.ts compareSortValues': ORDERS,
  'node/index/text/matching/ranked-expansions.ts compareClose': 'closeness, then compareTexts',
  'node/index/text/matching/search.ts compareScored': 'scores, then compareTexts of keys',
  'node/index/text/matching/sorted-hits.ts compareRanks': OF_NUMBERS,
  'node/index/text/matching/sorted-hits.ts compareSorted': ORDERS,
  'node/index/text/search/hit-order.ts compareHits': ORDERS,
  'node/index/text/segment/key-filter.ts hashOfKey': VERIFIED,
  'node/index/text/segment/segment.ts endOfPrefix':
    'keys as texts of one unit a byte, none above U+00FF',
  'node/index/text/segment/text-order.ts lowerBound': ORDERS,
  'node/index/text/segment/text-order.ts upperBoundFrom': ORDERS,
  'node/index/text/suggest/close-words.ts byCloseness': 'distances and counts, then compareTexts',
  'node/index/vector/search/nearest-documents.ts compare': OF_KEYS,
  'node/index/vector/search/run-nearest.ts byRows': OF_NUMBERS,
  'node/query/fusion/fuse-lists.ts compareFused': OF_KEYS,
  'node/query/language/parse-value-queries.ts compareText': 'Buffer.compare of UTF-8',
  'node/replication/core/fit-leaders.ts compareEnds': OF_NUMBERS,
  'node/shard/following/shard-indexes.ts byVersion': OF_NUMBERS,
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, name))
}

function textOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}

describe('shortcuts for orders and hashes', () => {
  const files = ['node', 'lib', 'door', 'cli'].flatMap(filesOf)

  it('are judged, each by name, and nothing is judged that is not there', () => {
    const found = files.flatMap((file) =>
      Array.from(textOf(file).matchAll(NAMED), ([, name]) => `${file} ${name ?? ''}`),
    )
    expect(found.toSorted()).to.deep.equal(Object.keys(JUDGED).toSorted())
  })

  it('are not the order of a language where answers depend on it', () => {
    const wrong = files.filter(
      (file) => !file.startsWith('cli/') && /localeCompare|Intl\.Collator/.test(textOf(file)),
    )
    expect(wrong).to.deep.equal([])
  })

  it('compare texts of terms and values by compareTexts, and not by the signs for numbers', () => {
    const signs =
      /\b(?:[tT]ext|term|prefix|resumeAt|upTo)\b(?: \?\? '')?\)? (?:<|>|<=|>=) (?!0\b|=|Infinity)\S/
    const wrong = files
      .filter((file) => file.startsWith('node/index/text/'))
      .flatMap((file) =>
        textOf(file)
          .split('\n')
          .filter((line) => signs.test(line) && !line.includes('#areByUnits'))
          .map((line) => `${file}: ${line.trim()}`),
      )
    expect(wrong).to.deep.equal([])
  })
})
