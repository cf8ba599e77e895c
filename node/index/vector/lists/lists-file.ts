// Reads the file of a segment's lists: its codes into memory while there is room for them, or part by part.

import { closeSync, fstatSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { damaged, openFile, readExactly, type FileSum } from '../files/file-sums.ts'
import { fitsMemory, strideOf, type CodeMemory, type Kernels } from '../kernels/code-memory.ts'
import type { FormerLists } from './lists-builder.ts'
import {
  codesAtOf,
  codesBytesOf,
  LISTS_HEADER_BYTES,
  readListSizes,
  readListsTable,
  type ListSizes,
  type ListsTable,
} from './lists-table.ts'
import type { VectorMemory } from '../files/vector-memory.ts'

/** Rows whose codes are read together, where they are not in memory. */
export const ROWS_READ = 512
/** The rest is for vectors without a graph, with all of which a search compares. */
const CODES_SHARE = 0.9
/** Read, summed and copied in some tenths of a millisecond. */
const STEP_BYTES = 256 * 1024

/** What lists are opened with. */
export interface ListsSource {
  readonly path: string
  readonly name: string
  readonly memory: VectorMemory
  readonly kernels: Kernels
}

/** The codes of the centers and, behind them, of all rows, or of some that were read last. */
export interface ListCodes {
  readonly table: ListsTable
  readonly codes: CodeMemory
  /** Whether all rows are there. */
  readonly isResident: boolean
  readonly bytesOnDisk: number
  /** For codes that are not resident: those of the rows at these places. */
  readonly read: (from: number, to: number) => void
  readonly close: () => void
}

/** CORRUPTION if the file is missing or damaged. */
export function* openLists(source: ListsSource, expected: FileSum): Sliced<ListCodes> {
  const { path, name, memory } = source
  const fd = openFile(path, name)
  let reserved = 0
  const close = (): void => {
    closeSync(fd)
    memory.giveBack(reserved)
  }
  try {
    if (fstatSync(fd).size !== expected.bytes) throw damaged(`${name} has another length`)
    const sizes = sizesIn(fd, name, expected.bytes)
    const codesBytes = codesBytesOf(sizes)
    const { dimension, listCount, rowCount } = sizes
    const fits = fitsMemory(dimension, listCount + rowCount)
    const isResident = fits && memory.reserve(codesBytes, CODES_SHARE)
    reserved = isResident ? codesBytes : 0
    const rows = listCount + (isResident ? rowCount : ROWS_READ)
    const codes = source.kernels.memoryOf(dimension, rows)
    const bytes = new Uint8Array(codesAtOf(sizes))
    for (const step of verifiedParts({ fd, name, expected })) {
      copyPart(step, bytes, 0)
      copyPart(step, codes.codes, bytes.length)
      yield
    }
    const stride = strideOf(dimension)
    const rowsAt = bytes.length + stride * listCount
    const read = (from: number, to: number): void => {
      const into = codes.codes.subarray(listCount * stride, (listCount + to - from) * stride)
      readExactly(fd, into, rowsAt + from * stride, name)
    }
    const table = readListsTable(bytes, name)
    return { table, codes, isResident, bytesOnDisk: expected.bytes, read, close }
  } catch (error) {
    close()
    throw error
  }
}

/** For lists that are written anew with more rows: the file was verified, or written by us. */
export function readFormerLists(path: string): FormerLists {
  const fd = openFile(path, path)
  try {
    const sizes = sizesIn(fd, path, fstatSync(fd).size)
    const bytes = new Uint8Array(codesAtOf(sizes))
    readExactly(fd, bytes, 0, path)
    const centers = new Uint8Array(strideOf(sizes.dimension) * sizes.listCount)
    readExactly(fd, centers, bytes.length, path)
    return { table: readListsTable(bytes, path), centers }
  } finally {
    closeSync(fd)
  }
}

/** Takes the bytes of such a file into memory, as they are made. */
export class ListsKeeper {
  readonly #kernels: Kernels
  #table: ListsTable | undefined
  #codes: CodeMemory | undefined
  #at = 0

  constructor(kernels: Kernels) {
    this.#kernels = kernels
  }

  /** The table comes first, as a whole. */
  *write(bytes: Uint8Array): Sliced<void> {
    if (this.#codes === undefined) {
      this.#table = readListsTable(Uint8Array.from(bytes), 'the table')
      const { dimension, listCount, rowCount } = this.#table.sizes
      this.#codes = this.#kernels.memoryOf(dimension, listCount + rowCount)
      return
    }
    this.#codes.codes.set(bytes, this.#at)
    this.#at += bytes.length
    yield
  }

  finish(): ListCodes {
    return {
      table: must(this.#table, 'a table'),
      codes: must(this.#codes, 'codes'),
      isResident: true,
      bytesOnDisk: 0,
      read: () => undefined,
      close: () => undefined,
    }
  }
}

function sizesIn(fd: number, name: string, bytes: number): ListSizes {
  const head = new Uint8Array(Math.min(LISTS_HEADER_BYTES, bytes))
  readExactly(fd, head, 0, name)
  const sizes = readListSizes(head, name)
  // Bounds all that is reserved for them.
  if (codesAtOf(sizes) + codesBytesOf(sizes) !== bytes) throw damaged(`${name} has another length`)
  return sizes
}

interface VerifiedFile {
  readonly fd: number
  readonly name: string
  readonly expected: FileSum
}

/** Bytes of a file, and where they begin in it. */
interface FilePart {
  readonly bytes: Uint8Array
  readonly from: number
}

/** Every byte of a file; CORRUPTION after the last if they are not those that were written. */
function* verifiedParts({ fd, name, expected }: VerifiedFile): Generator<FilePart> {
  const buffer = new Uint8Array(Math.min(STEP_BYTES, expected.bytes))
  let sum = 0
  for (let from = 0; from < expected.bytes; from += buffer.length) {
    const bytes = buffer.subarray(0, Math.min(buffer.length, expected.bytes - from))
    readExactly(fd, bytes, from, name)
    sum = crc32(bytes, sum)
    yield { bytes, from }
  }
  if (sum !== expected.sum) throw damaged(`${name} is damaged`)
}

/** What of a part lies in `into`, which is the file from `start` on. */
function copyPart({ bytes, from }: FilePart, into: Uint8Array, start: number): void {
  const first = Math.max(0, start - from)
  const to = Math.max(0, from - start)
  if (first < bytes.length && to < into.length) {
    into.set(bytes.subarray(first, first + into.length - to), to)
  }
}
