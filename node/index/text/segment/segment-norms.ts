// The norms of all fields of a segment in one piece of memory that threads share, because thousands of fields
// with a piece each would cost more than their norms. Format: docs/reference/formats/text-segment.md, "Norms".

import type { Sliced } from '../../../../lib/sliced.ts'
import type { SegmentInput } from '../encoding/segment-file.ts'
import { sharedBytes } from '../../encoding/shared-array.ts'
import { FieldNorms, fillPlaces, placeCount, shiftOf } from '../encoding/field-norms.ts'

/**
 * Where the norms of a field are in the segment's file: the offset of a byte for each document, or that of the
 * list of `count` documents and their bytes.
 */
export type NormsPlace = number | { readonly offset: number; readonly count: number }

/** A field of the segment's description, as far as its norms need it. */
interface DescribedNorms {
  readonly norms: NormsPlace | undefined
}

/** The shares of one field in the memory of all. Each is aligned for numbers of 32 bits. */
interface MemoryPlace {
  readonly inFile: NormsPlace
  readonly start: number
  readonly end: number
  readonly shift: number
}

/** The norms of a segment. The same fields give the same places in every thread. */
export class SegmentNorms {
  readonly #docCount: number
  readonly #places: readonly (MemoryPlace | undefined)[]
  readonly #bytes: Uint8Array

  /** `known` is what another thread has read for the same segment. */
  static *open(
    file: SegmentInput,
    segment: { readonly docCount: number; readonly fields: readonly DescribedNorms[] },
    known: Uint8Array | undefined,
  ): Sliced<SegmentNorms> {
    const { docCount, fields } = segment
    const places: (MemoryPlace | undefined)[] = []
    let end = 0
    for (const { norms } of fields) {
      const place = norms === undefined ? undefined : placeBehind(end, norms, docCount)
      places.push(place)
      end = place?.end ?? end
    }
    const norms = new SegmentNorms(docCount, places, known ?? sharedBytes(end))
    if (known === undefined) yield* norms.#read(file)
    return norms
  }

  private constructor(
    docCount: number,
    places: readonly (MemoryPlace | undefined)[],
    bytes: Uint8Array,
  ) {
    this.#docCount = docCount
    this.#places = places
    this.#bytes = bytes
  }

  /** The memory of all fields, for other threads. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** The norms of the field that the description has at this place. */
  at(field: number): FieldNorms | undefined {
    const place = this.#places[field]
    if (place === undefined) return undefined
    const { inFile, start, shift } = place
    if (typeof inFile === 'number') {
      return FieldNorms.ofAll(this.#bytes.subarray(start, start + this.#docCount))
    }
    const { docs, places, bytesAt } = this.#listAt(start, inFile.count, shift)
    const bytes = this.#bytes.subarray(bytesAt, bytesAt + inFile.count)
    return FieldNorms.ofListed({ docs, bytes, places, shift })
  }

  *#read(file: SegmentInput): Sliced<void> {
    for (const place of this.#places) {
      if (place === undefined) continue
      const { inFile, start, shift } = place
      yield
      if (typeof inFile === 'number') {
        yield* file.copyInSteps(inFile, this.#docCount, this.#bytes.subarray(start))
        continue
      }
      const { offset, count } = inFile
      const { docs, places, bytesAt } = this.#listAt(start, count, shift)
      yield* file.copyInSteps(offset, count * 4, this.#bytes.subarray(start))
      yield* file.copyInSteps(offset + count * 4, count, this.#bytes.subarray(bytesAt))
      yield* fillPlaces(places, docs, shift)
    }
  }

  /** The documents, the table of places behind them, and where the bytes are behind that. */
  #listAt(
    start: number,
    count: number,
    shift: number,
  ): { readonly docs: Uint32Array; readonly places: Uint32Array; readonly bytesAt: number } {
    const { buffer, byteOffset } = this.#bytes
    const tableLength = placeCount(this.#docCount, shift)
    return {
      docs: new Uint32Array(buffer, byteOffset + start, count),
      places: new Uint32Array(buffer, byteOffset + start + count * 4, tableLength),
      bytesAt: start + (count + tableLength) * 4,
    }
  }
}

function placeBehind(start: number, inFile: NormsPlace, docCount: number): MemoryPlace {
  if (typeof inFile === 'number') return { inFile, start, end: start + aligned(docCount), shift: 0 }
  const { count } = inFile
  const shift = shiftOf(count, docCount)
  const bytes = (count + placeCount(docCount, shift)) * 4 + aligned(count)
  return { inFile, start, end: start + bytes, shift }
}

function aligned(bytes: number): number {
  return (bytes + 3) & ~3
}
