// Defects planted in what sorts, halves and pages texts: one line of the code each, that the checks of text-orders.ts
// must show with the texts of one seed.

import { expect } from 'chai'
import type { TEXT_ORDERS } from '../support/loads/text-orders.ts'
import { plantCopy, type Defect } from '../support/simulation/planted-copy.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const FOLDERS = {
  copied: ['node', 'cli/service', 'test/support'],
  linked: ['lib', 'door', 'openapi', 'inference', 'node_modules', 'package.json', 'clients'],
}
const TEXT = 'index/text'

const DEFECTS: Readonly<Record<string, Defect>> = {
  'code units where texts are compared': {
    file: `${TEXT}/encoding/compare-texts.ts`,
    text: 'return rankOfUnit(a.charCodeAt(at)) - rankOfUnit(b.charCodeAt(at))',
    instead: 'return a.charCodeAt(at) - b.charCodeAt(at)',
  },
  'a fast way for long texts that asks one text too few': {
    file: `${TEXT}/encoding/compare-texts.ts`,
    text: 'if (isOrderedByUnits(a) || isOrderedByUnits(b)) {',
    instead: 'if (a.isWellFormed() || b.isWellFormed()) {',
  },
  'the end of a prefix that stops before the surrogates': {
    file: `${TEXT}/encoding/compare-texts.ts`,
    text: 'if (rank < RANK_MAX)',
    instead: 'if (rank < LEAST_SURROGATE - 1)',
  },
  'the end of a key prefix that is half a character': {
    file: '../cli/service/key-prefix.ts',
    text: 'const next = last + 1 === SURROGATE_FIRST ? SURROGATE_LAST + 1 : last + 1',
    instead: 'const next = last + 1',
  },
  'first characters in the order of their units': {
    file: `${TEXT}/segment/text-order.ts`,
    text: 'units.sort((a, b) => rankOfUnit(a) - rankOfUnit(b))',
    instead: 'units.sort((a, b) => a - b)',
  },
  'numbers of first characters that are 32 bits with a sign': {
    file: `${TEXT}/segment/text-order.ts`,
    text: 'number = number * this.#base + place',
    instead: 'number = (number * this.#base + place) | 0',
  },
  'equal first characters that are taken for equal texts': {
    file: `${TEXT}/segment/text-order.ts`,
    text: 'if (end > start + 1) texts.putInOrder(run.subarray(start, end))',
    instead: 'if (end > start + 2) texts.putInOrder(run.subarray(start, end))',
  },
  'texts that are compared by units after the first that may not be': {
    file: `${TEXT}/segment/text-order.ts`,
    text: 'return this.#areByUnits ? text <= than : compareTexts(text, than) <= 0',
    instead: 'return text <= than',
  },
  'a merge of dictionaries by units': {
    file: `${TEXT}/segment/text-merge.ts`,
    text: 'if (least === undefined || compareTexts(head.text, least) < 0) least = head.text',
    instead: 'if (least === undefined || head.text < least) least = head.text',
  },
  'blocks of a dictionary that are halved by units': {
    file: `${TEXT}/segment/dictionary.ts`,
    text: "if (compareTexts(this.#firsts[middle] ?? '', text) <= 0) low = middle + 1",
    instead: "if ((this.#firsts[middle] ?? '') <= text) low = middle + 1",
  },
  'buckets of facets by units': {
    file: `${TEXT}/aggregation/aggregation-partial.ts`,
    text: "if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)",
    instead: "if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : 1",
  },
  'hits of shards by units': {
    file: `${TEXT}/matching/compare-sort-values.ts`,
    text: "return typeof b === 'string' ? compareTexts(a, b) : 1",
    instead: "return typeof b === 'string' ? (a < b ? -1 : 1) : 1",
  },
  'keys of equal hits by language': {
    file: `${TEXT}/matching/sorted-hits.ts`,
    text: '  return compareTexts(a.key, b.key)\n}\n\ninterface Candidate',
    instead: '  return a.key.localeCompare(b.key)\n}\n\ninterface Candidate',
  },
  'a cursor that stands behind the text that a segment lacks': {
    file: `${TEXT}/matching/sorted-hits.ts`,
    text: 'return (isThere ? ordinal : ordinal - 0.5) * sign',
    instead: 'return ordinal * sign',
  },
  'a range whose upper bound is left out of the walk': {
    file: `${TEXT}/mapping/term-matchers.ts`,
    text: "max + (inclusiveMax ? '\\0' : '')",
    instead: "max + (inclusiveMax ? '' : '')",
  },
  'a range whose lower bound is in the walk and does not match': {
    file: `${TEXT}/mapping/term-matchers.ts`,
    text: "min + (inclusiveMin ? '' : '\\0')",
    instead: 'min',
  },
  'digits with a sign': {
    file: 'index/rows/radix-sort.ts',
    text: 'for (let shift = 0; shift < 32; shift += DIGIT_BITS)',
    instead: 'for (let shift = 0; shift < 31 - DIGIT_BITS; shift += DIGIT_BITS)',
  },
  'fields and texts that share a key': {
    file: `${TEXT}/encoding/term-key.ts`,
    text: 'return field.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(SEPARATOR, `${ESCAPE}0`)',
    instead: 'return field.replaceAll(SEPARATOR, `${ESCAPE}0`)',
  },
}

type Orders = { readonly TEXT_ORDERS: typeof TEXT_ORDERS }

describe(`a wrong order (QUARRY_TEST_SEED=${seed})`, () => {
  for (const [what, defect] of Object.entries(DEFECTS)) {
    it(`is shown by ${what}`, async () => {
      const load = plantCopy(FOLDERS, defect)
      const { TEXT_ORDERS: checks } = await load<Orders>('test/support/loads/text-orders.ts')
      const shown = Object.values(checks).some((wrongOf) => isWrong(wrongOf))

      expect(shown).to.equal(true)
    }).timeout(0)
  }
})

/** A defect may also be found by the code itself, which refuses what does not ascend. */
function isWrong(wrongOf: (seed: number) => string | undefined): boolean {
  try {
    return wrongOf(seed) !== undefined
  } catch (error) {
    return error instanceof Error && error.name === 'InvariantError'
  }
}
