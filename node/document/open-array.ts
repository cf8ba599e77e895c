// An array whose elements are added and removed without reading the others. It holds the elements
// of the text, marks for the removed ones, and the elements that were appended.
//
// The first removal finds the offsets of the elements. The first comparison computes their hashes.
// Each happens once.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { must } from '../../lib/assert.ts'
import { digestOf } from './canonical-digest.ts'
import { JsonScanner, SCAN_STEP_BYTES } from './json-scanner.ts'
import { hashOfName } from './name-hash.ts'
import type { TextWriter } from './text-writer.ts'

interface Elements {
  /** The offset of each element. An element ends one byte before the next one starts. */
  readonly starts: Uint32Array
  readonly count: number
  readonly removed: Uint8Array
  /** Every element outside `first` to `last` is removed. `last` is exclusive. */
  first: number
  last: number
}

interface Appended {
  readonly text: Buffer
  digest: string | undefined
}

const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const EMPTY = Buffer.from('[]')
const COMPARISONS_PER_STEP = 500_000
const REMOVALS_PER_STEP = 500
/** What an element costs beside its bytes. The unit is bytes. */
const ELEMENT_COST_BYTES = 32

/**
 * One array while transforms change it. Two elements are equal if their digests are (`digestOf`).
 */
export class OpenArray {
  readonly #text: Buffer
  #elements: Elements | undefined
  /** By element: a hash of its digest. */
  #hashes: Int32Array | undefined
  #appended: Appended[] = []

  /** `text` is an array from a stored document. The default is the empty array. */
  constructor(text: Buffer = EMPTY) {
    this.#text = text
  }

  push(element: Buffer): void {
    this.#appended.push({ text: element, digest: undefined })
  }

  *pop(end: 'first' | 'last'): Sliced<void> {
    if (end === 'last' && this.#appended.pop() !== undefined) return
    const elements = yield* this.#indexed()
    if (elements.first < elements.last) {
      if (end === 'first') elements.first++
      else elements.last--
      skipRemoved(elements)
    } else {
      this.#appended.shift()
    }
  }

  /** Removes every element that equals this one. */
  *pull(element: Buffer): Sliced<void> {
    const digest = yield* digestOf(element)
    const elements = yield* this.#indexed()
    const meter = new StepMeter(REMOVALS_PER_STEP)
    let found = yield* this.#find(digest, elements.first)
    while (found !== undefined) {
      elements.removed[found] = 1
      if (meter.spend(1)) yield
      found = yield* this.#find(digest, found + 1)
    }
    skipRemoved(elements)
    const kept: Appended[] = []
    for (const appended of this.#appended) {
      if ((yield* digestOfAppended(appended)) !== digest) kept.push(appended)
    }
    this.#appended = kept
  }

  *add(element: Buffer): Sliced<void> {
    const digest = yield* digestOf(element)
    if ((yield* this.#find(digest, 0)) !== undefined) return
    for (const appended of this.#appended) {
      if ((yield* digestOfAppended(appended)) === digest) return
    }
    this.#appended.push({ text: element, digest })
  }

  /** Writes the array as text. */
  *writeTo(writer: TextWriter): Sliced<void> {
    const elements = this.#elements
    const start = writer.length + 1
    writer.appendByte(OPEN_BRACKET)
    if (elements !== undefined) {
      yield* this.#writeElements(elements, writer)
    } else {
      writer.append(this.#text, 1, this.#text.length - 1)
    }
    for (const { text } of this.#appended) {
      if (writer.length > start) writer.appendByte(COMMA)
      writer.append(text)
    }
    writer.appendByte(CLOSE_BRACKET)
  }

  *#writeElements({ starts, removed, first, last }: Elements, writer: TextWriter): Sliced<void> {
    const meter = new StepMeter(COMPARISONS_PER_STEP / 10)
    const start = writer.length
    let runStart = first
    for (let at = first; at <= last; at++) {
      if (meter.spend(1)) yield
      if (at < last && removed[at] === 0) continue
      if (runStart < at) {
        if (writer.length > start) writer.appendByte(COMMA)
        writer.append(this.#text, starts[runStart], (starts[at] ?? 0) - 1)
      }
      runStart = at + 1
    }
  }

  *#indexed(): Sliced<Elements> {
    if (this.#elements !== undefined) return this.#elements
    const scanner = new JsonScanner(this.#text)
    const meter = new StepMeter(SCAN_STEP_BYTES)
    const starts = new Uint32Array((this.#text.length >> 1) + 1)
    let count = 0
    scanner.enterArray()
    while (scanner.nextElement()) {
      const start = scanner.position
      starts[count++] = start
      scanner.beginValue()
      while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
      if (meter.spend(scanner.position - start + ELEMENT_COST_BYTES)) yield
    }
    starts[count] = this.#text.length
    this.#elements = { starts, count, removed: new Uint8Array(count), first: 0, last: count }
    return this.#elements
  }

  /** The first element at `from` or behind it with this digest. */
  *#find(digest: string, from: number): Sliced<number | undefined> {
    const elements = yield* this.#indexed()
    const hashes = yield* this.#hashed(elements)
    const { removed, first, last } = elements
    const meter = new StepMeter(COMPARISONS_PER_STEP)
    const wanted = hashOfName(digest)
    for (let at = Math.max(first, from); at < last; at++) {
      if (meter.spend(1)) yield
      if (hashes[at] !== wanted || removed[at] === 1) continue
      if ((yield* digestOf(this.#elementAt(elements, at))) === digest) return at
    }
    return undefined
  }

  *#hashed(elements: Elements): Sliced<Int32Array> {
    if (this.#hashes !== undefined) return this.#hashes
    const hashes = new Int32Array(elements.count)
    const meter = new StepMeter(SCAN_STEP_BYTES)
    for (let at = elements.first; at < elements.last; at++) {
      const element = this.#elementAt(elements, at)
      hashes[at] = hashOfName(yield* digestOf(element))
      if (meter.spend(DIGEST_COST_BYTES + element.length)) yield
    }
    this.#hashes = hashes
    return hashes
  }

  #elementAt({ starts }: Elements, at: number): Buffer {
    const start = must(starts[at], 'an element within the array')
    return this.#text.subarray(start, must(starts[at + 1], 'the end of an element') - 1)
  }
}

/** What a digest costs beside the bytes it reads. The unit is bytes of scanning. */
const DIGEST_COST_BYTES = 256

function skipRemoved(elements: Elements): void {
  while (elements.first < elements.last && elements.removed[elements.first] === 1) elements.first++
  while (elements.first < elements.last && elements.removed[elements.last - 1] === 1) {
    elements.last--
  }
}

function* digestOfAppended(appended: Appended): Sliced<string> {
  appended.digest ??= yield* digestOf(appended.text)
  return appended.digest
}
