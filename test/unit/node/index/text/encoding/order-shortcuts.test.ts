// The order of texts is that of the bytes of their UTF-8. Whatever sorts texts, or halves a list of them,
// is here: a shortcut for an order is an order. test/tidy/order-shortcuts.test.ts finds new ones.

import { expect } from 'chai'
import {
  compareKeys,
  endOfPrefix as endOfKeyPrefix,
} from '../../../../../../cli/service/key-prefix.ts'
import { seededRandom, type Random } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { TermMatcher } from '../../../../../../node/index/text/engine-query.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { compareBucketKeys } from '../../../../../../node/index/text/aggregation/aggregation-partial.ts'
import {
  compareTexts,
  endOfPrefix,
} from '../../../../../../node/index/text/encoding/compare-texts.ts'
import { PageCache } from '../../../../../../node/index/text/encoding/page-cache.ts'
import {
  SegmentInput,
  SegmentOutput,
} from '../../../../../../node/index/text/encoding/segment-file.ts'
import { fieldOfTermKey, termKey } from '../../../../../../node/index/text/encoding/term-key.ts'
import { termRangeMatcher } from '../../../../../../node/index/text/mapping/term-matchers.ts'
import { compareSortValues } from '../../../../../../node/index/text/matching/compare-sort-values.ts'
import { compareSorted } from '../../../../../../node/index/text/matching/sorted-hits.ts'
import { compareHits } from '../../../../../../node/index/text/search/hit-order.ts'
import {
  DictionaryReader,
  DictionaryWriter,
} from '../../../../../../node/index/text/segment/dictionary.ts'
import { DiskSegment } from '../../../../../../node/index/text/segment/disk-segment.ts'
import { MemorySegment } from '../../../../../../node/index/text/segment/memory-segment.ts'
import type { Segment } from '../../../../../../node/index/text/segment/segment.ts'
import { writeSegment } from '../../../../../../node/index/text/segment/segment-writer.ts'
import { TextMerge } from '../../../../../../node/index/text/segment/text-merge.ts'
import { TextOrder } from '../../../../../../node/index/text/segment/text-order.ts'
import { firstAtLeast, orderOf } from '../../../../../../node/index/vector/segment/radix-sort.ts'
import {
  compareUtf8,
  randomText,
  valueOf,
  wordOf,
} from '../../../../../support/loads/script-texts.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const LISTS = 60

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString()

/** Distinct texts: of everywhere, of words of many scripts, with long and short common beginnings. */
function randomTexts(random: Random): readonly string[] {
  const below = (bound: number): number => Math.floor(random() * bound)
  const makers: readonly (() => string)[] = [
    () => randomText(random, 6),
    () => randomText(random, 60),
    () => wordOf(below(4000)),
    () => valueOf(below(4000)),
    () => `${'a'.repeat(40)}${randomText(random, 3)}`,
    () => `${'\u{10400}'.repeat(20)}${randomText(random, 3)}`,
  ]
  const chosen = makers.filter(() => random() < 0.5)
  const used = chosen.length === 0 ? makers : chosen
  const count = 1 + below(below(4) === 0 ? 2000 : 200)
  const make = (): string => (used[below(used.length)] ?? wordOf.bind(undefined, 1))()
  const texts = new Set(Array.from({ length: count }, make))
  // Some are prefixes of others.
  for (const text of [...texts].slice(0, 20)) {
    texts.add(Array.from(text).slice(0, below(8)).join(''))
  }
  return [...texts]
}

const byComparing =
  (compare: (left: string, right: string) => number): Sorter =>
  (texts) =>
    texts.toSorted(compare)

type Sorter = (texts: readonly string[], random: Random) => readonly string[]

/** Everything that puts texts into their order. */
const SORTERS: Readonly<Record<string, Sorter>> = {
  compareTexts: byComparing(compareTexts),
  compareSortValues: byComparing((a, b) => compareSortValues(a, b, false)),
  'compareSortValues, descending': (texts) =>
    texts.toSorted((a, b) => compareSortValues(a, b, true)).toReversed(),
  compareBucketKeys: byComparing(compareBucketKeys),
  'compareSorted, by values': byComparing((a, b) =>
    compareSorted(
      [{ by: 'column', field: 'f', descending: false }],
      { sortValues: [a], key: '' },
      { sortValues: [b], key: '' },
    ),
  ),
  'compareSorted, by keys': byComparing((a, b) =>
    compareSorted([], { sortValues: [], key: latin1(a) }, { sortValues: [], key: latin1(b) }),
  ),
  'compareHits, by keys': byComparing((a, b) =>
    compareHits(
      [],
      { key: Buffer.from(a), sortValues: [] },
      { key: Buffer.from(b), sortValues: [] },
    ),
  ),
  'compareKeys of the command line': byComparing(compareKeys),
  'TextOrder, at once': (texts) => {
    const ranks = new TextOrder(texts).ranks()
    return Array.from(ranks.sorted, (_, rank) => ranks.at(rank))
  },
  'TextOrder, growing': (texts, random) => {
    const list: string[] = []
    const order = new TextOrder(list)
    for (let from = 0; from < texts.length;) {
      const to = from + 1 + Math.floor(random() * 200)
      list.push(...texts.slice(from, to))
      order.ranks()
      from = to
    }
    const ranks = order.ranks()
    return Array.from(ranks.sorted, (_, rank) => ranks.at(rank))
  },
  'TextMerge of sorted lists': (texts) => {
    const lists = [0, 1, 2].map((part) =>
      texts
        .filter((_, i) => i % 3 === part)
        .toSorted(compareUtf8)
        .map((text) => ({ text })),
    )
    const merge = new TextMerge(lists)
    const out: string[] = []
    while (merge.next()) out.push(merge.items[0]?.text ?? '')
    return out
  },
  'terms of a memory segment': (texts) => termsOf(memorySegment(texts).view()),
  'terms of a disk segment': (texts) => termsOf(diskSegment(texts)),
  'keys of a memory segment': (texts) => keysOf(memorySegment(texts).view()),
  'keys of a disk segment': (texts) => keysOf(diskSegment(texts)),
  'ordinals of a memory column': (texts) => columnOf(memorySegment(texts).view()),
  'ordinals of a disk column': (texts) => columnOf(diskSegment(texts)),
}

/** The number of texts below another one. */
type Halver = (texts: readonly string[], text: string) => number

/** Everything that halves a list of texts. */
const HALVERS: Readonly<Record<string, Halver>> = {
  'TextRanks.lowerBound': (texts, text) => new TextOrder(texts).ranks().lowerBound(text),
  'DictionaryReader.lowerBound': (texts, text) => dictionary(texts).lowerBound(text),
  'DictionaryReader.entriesFrom': (texts, text) => {
    const [first] = dictionary(texts).entriesFrom(text)
    return first?.ordinal ?? texts.length
  },
  'DictionaryReader.find': (texts, text) => {
    const found = dictionary(texts).find(text)
    return found?.ordinal ?? texts.filter((one) => compareUtf8(one, text) < 0).length
  },
  'ordinalOf a memory column': (texts, text) =>
    memorySegment(texts).view().field('tag')?.column?.ordinalOf(text) ?? -1,
  'ordinalOf a disk column': (texts, text) =>
    diskSegment(texts).field('tag')?.column?.ordinalOf(text) ?? -1,
}

/** Each text is the key of a document that has it as its value. */
function memorySegment(texts: readonly string[]): MemorySegment {
  const segment = new MemorySegment()
  for (const text of texts) {
    const key = Buffer.from(text)
    const fields = [{ kind: 'keyword' as const, name: 'tag', values: [text] }]
    runAtOnce(segment.add(key.toString('latin1'), { key, expiresAtMs: 0, fields }))
  }
  return segment
}

function openBytes(bytes: Uint8Array | undefined): SegmentInput {
  return new SegmentInput(
    { name: 'test', bytes: bytes ?? new Uint8Array(0) },
    new PageCache(2 ** 20),
    DISK_WORK_HERE,
  )
}

function diskSegment(texts: readonly string[]): DiskSegment {
  const segment = memorySegment(texts).view()
  const out = new SegmentOutput(undefined, DISK_WORK_HERE)
  const { bytes } = runAtOnce(writeSegment([{ segment, isDropped: () => false }], out))
  return runAtOnce(DiskSegment.open(openBytes(bytes)))
}

function dictionary(texts: readonly string[]): DictionaryReader {
  return writeDictionary(texts.toSorted(compareUtf8))
}

function writeDictionary(texts: readonly string[]): DictionaryReader {
  const out = new SegmentOutput(undefined, DISK_WORK_HERE)
  const writer = new DictionaryWriter('utf8')
  for (const text of texts) writer.add(text, { docFreq: 1, offset: 0, length: 0 })
  const place = runAtOnce(writer.finish(out))
  const bytes = runAtOnce(out.finish('{}'))
  return runAtOnce(DictionaryReader.open(openBytes(bytes), place, 'utf8'))
}

function termsOf(segment: Segment): readonly string[] {
  return Array.from(segment.field('tag')?.entriesFrom('') ?? [], ({ text }) => text)
}

function keysOf(segment: Segment): readonly string[] {
  return Array.from(segment.keysInOrder(), ({ text }) => utf8(text))
}

function columnOf(segment: Segment): readonly string[] {
  const column = segment.field('tag')?.column
  return Array.from({ length: column?.ordinalCount ?? 0 }, (_, i) => column?.termOf(i) ?? '')
}

/** The first two texts that are not in order, and undefined if a sorter has them all right. */
function misorderOf(sorter: Sorter, lists: number): string | undefined {
  const random = seededRandom(seed)
  for (let list = 0; list < lists; list += 1) {
    const texts = randomTexts(random)
    const sorted = sorter(texts, random)
    if (sorted.length !== texts.length) return `${sorted.length} of ${texts.length} texts`
    const at = sorted.findIndex((text, i) => i > 0 && compareUtf8(sorted[i - 1] ?? '', text) >= 0)
    if (at > 0) return JSON.stringify(sorted.slice(at - 1, at + 1))
  }
  return undefined
}

/** Whether a walk of the terms comes by the text. */
function isWalked({ prefix, upTo }: TermMatcher, text: string): boolean {
  return text.startsWith(prefix) && (upTo === undefined || compareTexts(text, upTo) <= 0)
}

describe(`order shortcuts are orders (QUARRY_TEST_SEED=${seed})`, () => {
  for (const [name, sorter] of Object.entries(SORTERS)) {
    it(`sorts as the bytes of UTF-8 do: ${name}`, () => {
      expect(misorderOf(sorter, LISTS)).to.equal(undefined)
    })
  }

  for (const [name, halver] of Object.entries(HALVERS)) {
    it(`finds the place of a text by halving: ${name}`, () => {
      const random = seededRandom(seed)
      for (let list = 0; list < LISTS / 4; list += 1) {
        const texts = randomTexts(random).slice(0, 300)
        const sorted = texts.toSorted(compareUtf8)
        for (const text of [...sorted.slice(0, 12), ...sorted.slice(-12), randomText(random, 4)]) {
          const below = sorted.filter((one) => compareUtf8(one, text) < 0).length
          expect(halver(texts, text), JSON.stringify(text)).to.equal(below)
        }
      }
    })
  }

  it('ends a prefix where the texts with it end', () => {
    const random = seededRandom(seed)
    for (let round = 0; round < 400; round += 1) {
      const [prefix, text] = [randomText(random, 4), randomText(random, 4)]
      const continued = prefix + text
      const end = endOfPrefix(prefix)
      expect(end === undefined || compareTexts(continued, end) < 0, continued).to.equal(true)
      const isBehind = compareUtf8(text, prefix) > 0 && !text.startsWith(prefix)
      if (isBehind) expect(end !== undefined && compareTexts(text, end) >= 0, text).to.equal(true)
      const keyEnd = endOfKeyPrefix(prefix)
      expect(keyEnd === undefined || compareUtf8(continued, keyEnd) < 0, continued).to.equal(true)
      if (isBehind) expect(keyEnd !== undefined && compareUtf8(text, keyEnd) >= 0).to.equal(true)
    }
  })

  it('selects by the range of a matcher what the matcher matches', () => {
    const random = seededRandom(seed)
    for (let round = 0; round < 1000; round += 1) {
      const [min, max, text] = [randomText(random, 2), randomText(random, 2), randomText(random, 2)]
      const [inclusiveMin, inclusiveMax] = [random() < 0.5, random() < 0.5]
      const matcher = termRangeMatcher({ min, max, inclusiveMin, inclusiveMax })
      const [low, high] = [compareUtf8(text, min), compareUtf8(text, max)]
      const isWithin = (inclusiveMin ? low >= 0 : low > 0) && (inclusiveMax ? high <= 0 : high < 0)
      const { from = '', to = '' } = matcher.range ?? {}
      const inRange = compareTexts(text, from) >= 0 && compareTexts(text, to) < 0

      const shown = JSON.stringify({ min, max, text, inclusiveMin, inclusiveMax })
      expect([matcher.matches(text), inRange], shown).to.deep.equal([isWithin, isWithin])
      if (isWithin) expect(isWalked(matcher, text), shown).to.equal(true)
    }
  })

  it('sorts numbers by their digits as by their values', () => {
    const random = seededRandom(seed)
    for (let list = 0; list < LISTS; list += 1) {
      const scale = 2 ** Math.floor(random() * 33)
      const values = Uint32Array.from({ length: 500 }, () => Math.floor(random() * scale))
      const sorted = Array.from(runAtOnce(orderOf(values)), (at) => values[at] ?? 0)
      expect(sorted).to.deep.equal(Array.from(values.toSorted()))
      const wanted = values[0] ?? 0
      expect(firstAtLeast(sorted, wanted)).to.equal(sorted.indexOf(wanted))
    }
  })

  it('has one key for each field and text, whatever characters they have', () => {
    const random = seededRandom(seed)
    const keys = new Map<string, string>()
    const part = (): string =>
      Array.from(
        { length: Math.floor(random() * 4) },
        () => '\0\u0001a01'[Math.floor(random() * 5)],
      ).join('')
    for (let round = 0; round < 5000; round += 1) {
      const pair = [part(), part()] as const
      const key = termKey(...pair)
      expect(fieldOfTermKey(key)).to.equal(pair[0])
      const known = keys.get(key)
      if (known !== undefined) expect(known).to.equal(JSON.stringify(pair))
      keys.set(key, JSON.stringify(pair))
    }
  })
})

/** What has gone wrong with such orders, or may. */
const DEFECTS: Readonly<Record<string, Sorter>> = {
  'a prefix that saturates, and goes on behind it': byComparing(
    (a, b) => saturated(a) - saturated(b) || compareTexts(a, b),
  ),
  'units in place of characters': byComparing((a, b) => (a < b ? -1 : Number(a > b))),
  'a comparison that ignores the tail': byComparing((a, b) =>
    compareTexts(a.slice(0, 12), b.slice(0, 12)),
  ),
  'a pair of neighbours that is swapped': (texts) => {
    const sorted = texts.toSorted(compareUtf8)
    const [first = '', second = '', ...rest] = sorted
    return sorted.length < 2 ? sorted : [second, first, ...rest]
  },
  'the order of a language': byComparing((a, b) => a.localeCompare(b) || compareTexts(a, b)),
  'the order of lower case': byComparing(
    (a, b) => compareTexts(a.toLowerCase(), b.toLowerCase()) || compareTexts(a, b),
  ),
  'a text that is left out': (texts) => texts.toSorted(compareUtf8).slice(1),
  'signed bytes': byComparing((a, b) => compareUtf8(signed(a), signed(b))),
}

function saturated(text: string): number {
  let number = 0
  for (let i = 0; i < 5; i += 1) {
    number = number * 128 + (i < text.length ? Math.min(text.charCodeAt(i) + 1, 127) : 0)
  }
  return number
}

/** Bytes from 0x80 on come first. */
function signed(text: string): string {
  return Array.from(Buffer.from(text), (byte) => String.fromCodePoint((byte + 128) % 256)).join('')
}

describe('the test of orders', () => {
  for (const [name, sorter] of Object.entries(DEFECTS)) {
    it(`catches ${name}`, () => {
      expect(misorderOf(sorter, LISTS)).to.be.a('string')
    })
  }
})

describe('the writer of a dictionary', () => {
  const wrong: readonly (readonly string[])[] = [
    ['b', 'a'],
    ['a', 'a'],
    ['ab', 'a'],
    ['中国', '京'].toReversed(),
    ['\u{1f600}', '\uffff'],
    [...Array.from({ length: 32 }, (_, i) => `k${String(i).padStart(2, '0')}`), 'k'],
  ]
  for (const texts of wrong) {
    it(`refuses ${JSON.stringify(texts.slice(-2))}`, () => {
      expect(() => writeDictionary(texts)).to.throw('the texts of a dictionary ascend')
    })
  }
})
