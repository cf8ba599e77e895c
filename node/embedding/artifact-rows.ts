// The rows of an artifact (artifact.ts has the layout).

import { ServiceError } from '../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'

/** A dense vector, and the part of the source text it stands for. */
export interface ArtifactRow {
  /** UTF-16 offsets of the chunk in the source text; 0 and 0: the whole. */
  readonly start: number
  readonly end: number
  readonly vector: Float32Array
}

/** A sparse vector: `weights[i]` belongs to `terms[i]`. The terms ascend. */
export interface SparseRow {
  readonly start: number
  readonly end: number
  readonly terms: Uint32Array
  readonly weights: Float32Array
}

/** Where the rows begin. */
export const HEAD_BYTES = 40
export const ROW_HEAD_BYTES = 8
export const NUMBER_BYTES = 4

/** Copied in less than a millisecond, where rows are not aligned. */
const BYTES_PER_STEP = 512 * 1024
/** What the objects of a row cost, as bytes that are copied. */
const ROW_COST_BYTES = 512

/** Reads `count` rows of one dimension; CORRUPTION if the reader has fewer or more. */
export function* readDenseRows(
  reader: RowReader,
  { dimension, count }: { readonly dimension: number; readonly count: number },
): Sliced<readonly ArtifactRow[]> {
  reader.expect(count * (ROW_HEAD_BYTES + dimension * NUMBER_BYTES))
  const rows: ArtifactRow[] = []
  const meter = new StepMeter(BYTES_PER_STEP)
  for (let row = 0; row < count; row++) {
    rows.push({ ...reader.span(), vector: reader.floats(dimension) })
    if (meter.spend(ROW_COST_BYTES + dimension * NUMBER_BYTES)) yield
  }
  return rows
}

/** Reads `count` rows; CORRUPTION if the reader has fewer or more. */
export function* readSparseRows(reader: RowReader, count: number): Sliced<readonly SparseRow[]> {
  const rows: SparseRow[] = []
  const meter = new StepMeter(BYTES_PER_STEP)
  for (let row = 0; row < count; row++) {
    const span = reader.span()
    const termCount = reader.u32()
    rows.push({ ...span, terms: reader.words(termCount), weights: reader.floats(termCount) })
    if (meter.spend(ROW_COST_BYTES + 2 * termCount * NUMBER_BYTES)) yield
  }
  reader.expect(0)
  return rows
}

/** Walks the rows; running past their end is CORRUPTION. */
export class RowReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #end: number
  #at = HEAD_BYTES

  constructor(bytes: Uint8Array, view: DataView, end: number) {
    this.#bytes = bytes
    this.#view = view
    this.#end = end
  }

  /** Checks how many bytes of rows are left. */
  expect(left: number): void {
    if (this.#end - this.#at !== left) throw corrupt('its rows have another length')
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(NUMBER_BYTES), true)
  }

  span(): { readonly start: number; readonly end: number } {
    const start = this.u32()
    const end = this.u32()
    if (start > end) throw corrupt('a row ends before it starts')
    return { start, end }
  }

  floats(count: number): Float32Array {
    const { buffer, byteOffset } = this.#numbers(count)
    return new Float32Array(buffer, byteOffset, count)
  }

  words(count: number): Uint32Array {
    const { buffer, byteOffset } = this.#numbers(count)
    return new Uint32Array(buffer, byteOffset, count)
  }

  /** The bytes of `count` numbers, at a place where numbers may lie. */
  #numbers(count: number): Uint8Array {
    const from = this.#advance(count * NUMBER_BYTES)
    const bytes = this.#bytes.subarray(from, this.#at)
    return bytes.byteOffset % NUMBER_BYTES === 0 ? bytes : Uint8Array.from(bytes)
  }

  #advance(count: number): number {
    const from = this.#at
    if (from + count > this.#end) throw corrupt('its rows are cut short')
    this.#at += count
    return from
  }
}

/** For anything that `encodeArtifact` did not make. */
export function corrupt(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('CORRUPTION', `artifact: ${problem}`, { cause })
}
