// Whatever sorts texts or halves a list of them, and properties of the rest that depends on their order: it is that of
// the bytes of their UTF-8. Each check answers what it found wrong, so that planted defects can be compared by it.

import { compareKeys, endOfPrefix as endOfKeyPrefix } from '../../../cli/service/key-prefix.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import { parseTableSchema } from '../../../node/schema/table-schema.ts'
import type { TextWindow } from '../../../node/index/text/search/text-search.ts'
import type { TermMatcher } from '../../../node/index/text/engine-query.ts'
import { DISK_WORK_HERE } from '../../../node/index/files/disk-work.ts'
import { compareBucketKeys } from '../../../node/index/text/aggregation/aggregation-partial.ts'
import { compareTexts, endOfPrefix } from '../../../node/index/text/encoding/compare-texts.ts'
import { PageCache } from '../../../node/index/text/encoding/page-cache.ts'
import { SegmentInput, SegmentOutput } from '../../../node/index/text/encoding/segment-file.ts'
import { fieldOfTermKey, termKey } from '../../../node/index/text/encoding/term-key.ts'
import { termRangeMatcher } from '../../../node/index/text/mapping/term-matchers.ts'
import { compareSortValues } from '../../../node/index/text/matching/compare-sort-values.ts'
import { compareSorted } from '../../../node/index/text/matching/sorted-hits.ts'
import { compareHits } from '../../../node/index/text/search/hit-order.ts'
import { DictionaryReader, DictionaryWriter } from '../../../node/index/text/segment/dictionary.ts'
import { DiskSegment } from '../../../node/index/text/segment/disk-segment.ts'
import { MemorySegment } from '../../../node/index/text/segment/memory-segment.ts'
import type { Segment } from '../../../node/index/text/segment/segment.ts'
import { writeSegment } from '../../../node/index/text/segment/text-segment-writer.ts'
import { TextMerge } from '../../../node/index/text/segment/text-merge.ts'
import { TextOrder } from '../../../node/index/text/segment/text-order.ts'
import { firstAtLeast, orderOf } from '../../../node/index/rows/radix-sort.ts'
import { compareUtf8, randomText, valueOf, wordOf } from './script-texts.ts'
import { EVERYTHING, MemoryTextIndex } from '../worlds/memory-text-index.ts'

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

export type Sorter = (texts: readonly string[], random: Random) => readonly string[]

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

export function writeDictionary(texts: readonly string[]): DictionaryReader {
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
export function misorderOf(sorter: Sorter, seed: number): string | undefined {
  const random = seededRandom(seed)
  for (let list = 0; list < LISTS; list += 1) {
    const texts = randomTexts(random)
    const sorted = sorter(texts, random)
    if (sorted.length !== texts.length) return `${sorted.length} of ${texts.length} texts`
    const at = sorted.findIndex((text, i) => i > 0 && compareUtf8(sorted[i - 1] ?? '', text) >= 0)
    if (at > 0) return JSON.stringify(sorted.slice(at - 1, at + 1))
  }
  return undefined
}

function misplaceOf(halver: Halver, seed: number): string | undefined {
  const random = seededRandom(seed)
  for (let list = 0; list < LISTS / 4; list += 1) {
    const texts = randomTexts(random).slice(0, 300)
    const sorted = texts.toSorted(compareUtf8)
    for (const text of [...sorted.slice(0, 12), ...sorted.slice(-12), randomText(random, 4)]) {
      const below = sorted.filter((one) => compareUtf8(one, text) < 0).length
      const found = halver(texts, text)
      if (found !== below) return `${JSON.stringify(text)} is at ${below}, not at ${found}`
    }
  }
  return undefined
}

function isAbove(text: string, other: string, orEqual: boolean): boolean {
  const order = compareUtf8(text, other)
  return orEqual ? order >= 0 : order > 0
}

/** Whether a walk of the terms comes by the text. */
function isWalked({ prefix, upTo }: TermMatcher, text: string): boolean {
  return text.startsWith(prefix) && (upTo === undefined || compareTexts(text, upTo) <= 0)
}

/** What else depends on the order, each with what it found wrong. */
const PROPERTIES: Readonly<Record<string, (random: Random) => string | undefined>> = {
  'ends a prefix where the texts with it end': (random) => {
    for (let round = 0; round < 400; round += 1) {
      const [prefix, text] = [randomText(random, 4), randomText(random, 4)]
      const continued = prefix + text
      const isBehind = compareUtf8(text, prefix) > 0 && !text.startsWith(prefix)
      const ends = { terms: endOfPrefix(prefix), keys: endOfKeyPrefix(prefix) }
      for (const [of, end] of Object.entries(ends)) {
        const compare = of === 'terms' ? compareTexts : compareUtf8
        if (end !== undefined && compare(continued, end) >= 0) return `${of}: ${prefix}, ${text}`
        if (isBehind && (end === undefined || compare(text, end) < 0)) return `${of}: ${text}`
      }
    }
    return undefined
  },
  'selects by the range of a matcher what the matcher matches': (random) => {
    for (let round = 0; round < 1000; round += 1) {
      const [min, max, text] = [randomText(random, 2), randomText(random, 2), randomText(random, 2)]
      const [inclusiveMin, inclusiveMax] = [random() < 0.5, random() < 0.5]
      const matcher = termRangeMatcher({ min, max, inclusiveMin, inclusiveMax })
      const isWithin = isAbove(text, min, inclusiveMin) && isAbove(max, text, inclusiveMax)
      const { from = '', to = '' } = matcher.range ?? {}
      const inRange = compareTexts(text, from) >= 0 && compareTexts(text, to) < 0
      const isRight = matcher.matches(text) === isWithin && inRange === isWithin
      if (isRight && (!isWithin || isWalked(matcher, text))) continue
      return JSON.stringify({ min, max, text, inclusiveMin, inclusiveMax })
    }
    return undefined
  },
  'sorts numbers by their digits as by their values': (random) => {
    for (let list = 0; list < LISTS; list += 1) {
      const scale = 2 ** Math.floor(random() * 33)
      const values = Uint32Array.from({ length: 500 }, () => Math.floor(random() * scale))
      const sorted = Array.from(runAtOnce(orderOf(values)), (at) => values[at] ?? 0)
      const expected = Array.from(values.toSorted())
      const at = sorted.findIndex((value, i) => value !== expected[i])
      if (at >= 0) return `${sorted[at]} at ${at} of values below ${scale}`
      const wanted = values[0] ?? 0
      if (firstAtLeast(sorted, wanted) !== sorted.indexOf(wanted)) return `the place of ${wanted}`
    }
    return undefined
  },
  'has one key for each field and text, whatever characters they have': (random) => {
    const keys = new Map<string, string>()
    const part = (): string =>
      Array.from(
        { length: Math.floor(random() * 4) },
        () => '\0\u0001a01'[Math.floor(random() * 5)],
      ).join('')
    for (let round = 0; round < 5000; round += 1) {
      const pair = [part(), part()] as const
      const key = termKey(...pair)
      const shown = JSON.stringify(pair)
      if (fieldOfTermKey(key) !== pair[0] || (keys.get(key) ?? shown) !== shown) return shown
      keys.set(key, shown)
    }
    return undefined
  },
  'begins a page behind a text that no document has': (random) => {
    for (let list = 0; list < 6; list += 1) {
      const index = new MemoryTextIndex({}, SORTED_SCHEMA)
      const texts = randomTexts(random).map((text) => text.normalize('NFC'))
      const [absent, present] = [texts.slice(0, 20), [...new Set(texts.slice(20, 120))]]
      index.write(Object.fromEntries(asTags(present.map((text, i) => [String(i), text]))))
      for (const text of absent.filter((one) => !present.includes(one))) {
        const position = { values: [text], key: LAST_KEY }
        const window = { kind: 'after', position, limit: 1 } as const
        const { hits } = index.search({ ...EVERYTHING, order: BY_TAG, window })
        const [next] = present.filter((one) => compareUtf8(one, text) > 0).toSorted(compareUtf8)
        if (hits[0]?.sortValues[0] !== next) return JSON.stringify({ text, next })
      }
    }
    return undefined
  },
  'walks pages of hits in the order of their values, in both directions': (random) => {
    for (let list = 0; list < 6; list += 1) {
      const index = new MemoryTextIndex({}, SORTED_SCHEMA)
      const texts = randomTexts(random).slice(0, 80)
      // Two values of a text each, in keys whose order is another one.
      const documents = texts.map((text, i) => [`${texts[(i * 7) % texts.length]}${i}`, text])
      const half = documents.length >>> 1
      index.write(Object.fromEntries(asTags(documents.slice(0, half))))
      index.write(Object.fromEntries(asTags(documents.slice(half))))
      const expected = documents
        .toSorted(([key = '', a = ''], [other = '', b = '']) => {
          const [one, two] = [a.normalize('NFC'), b.normalize('NFC')]
          return compareUtf8(one, two) || compareUtf8(key, other)
        })
        .map(([key]) => key)
      const ways = { after: pagesAfter(index), before: pagesBefore(index) }
      for (const [way, found] of Object.entries(ways)) {
        const wanted = way === 'after' ? expected : expected.slice(0, -1)
        const at = wanted.findIndex((key, i) => key !== found[i])
        if (at >= 0 || found.length !== wanted.length) return `${way}: ${at} of ${found.length}`
      }
    }
    return undefined
  },
}

/** Behind every key. */
const LAST_KEY = Buffer.from([0xff])

const SORTED_SCHEMA = parseTableSchema(
  {
    default_type: 'page',
    document_schemas: {
      page: { schema: { properties: { tag: { 'x-service-types': ['keyword'] } } } },
    },
  },
  undefined,
)

function asTags(documents: readonly (readonly string[])[]) {
  return documents.map(([key = '', tag = '']) => [key, { tag }] as const)
}

const PAGE = 7
const BY_TAG = [{ field: 'tag', isDescending: false }]

/** The keys in front of the last one, from pages that are read from there to the front. */
function pagesBefore(index: MemoryTextIndex): readonly string[] {
  const window = { kind: 'first', limit: 10_000 } as const
  let edge = index.search({ ...EVERYTHING, order: BY_TAG, window }).hits.at(-1)
  const found: string[] = []
  while (edge !== undefined) {
    const position = { values: edge.sortValues, key: edge.key }
    const page = { kind: 'before', position, limit: PAGE } as const
    const { hits } = index.search({ ...EVERYTHING, order: BY_TAG, window: page })
    found.unshift(...hits.map(({ key }) => Buffer.from(key).toString()))
    edge = hits[0]
  }
  return found
}

/** The keys from pages that are read from the front. */
function pagesAfter(index: MemoryTextIndex): readonly string[] {
  const found: string[] = []
  let window: TextWindow = { kind: 'first', limit: PAGE }
  for (;;) {
    const { hits } = index.search({ ...EVERYTHING, order: BY_TAG, window })
    const last = hits.at(-1)
    if (last === undefined) return found
    found.push(...hits.map(({ key }) => Buffer.from(key).toString()))
    window = { kind: 'after', position: { values: last.sortValues, key: last.key }, limit: PAGE }
  }
}

/** Everything, by name. Each answers what it found wrong with the texts of a seed. */
export const TEXT_ORDERS: Readonly<Record<string, (seed: number) => string | undefined>> = {
  ...Object.fromEntries(
    Object.entries(SORTERS).map(([name, sorter]) => [
      `sorts as the bytes of UTF-8 do: ${name}`,
      (seed: number) => misorderOf(sorter, seed),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(HALVERS).map(([name, halver]) => [
      `finds the place of a text by halving: ${name}`,
      (seed: number) => misplaceOf(halver, seed),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(PROPERTIES).map(([name, check]) => [
      name,
      (seed: number) => check(seededRandom(seed)),
    ]),
  ),
}
