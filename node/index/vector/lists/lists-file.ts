// Reads the file of a segment's lists: its codes into memory while there is room for them, or part by part.

import { closeSync, fstatSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import { closedUnlessDone } from '../../../../lib/closing.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { damaged, openFile, readExactly, type FileSum } from '../../rows/file-sums.ts'
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
import type { BlockMemory } from '../files/block-memory.ts'

/** Rows whose codes are read together, where they are not in memory. */
export const ROWS_READ = 512
/** A tenth of the memory is left to vectors without a graph: a search compares with all of them. */
const CODES_SHARE = 0.9
/** Read, summed and copied in some tenths of a millisecond. */
const STEP_BYTES = 256 * 1024

/** What lists are opened with. */
export interface ListsSource {
  readonly path: string
  readonly name: string
  readonly memory: BlockMemory
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
  /** Reads all codes into memory if there is room for them now. */
  readonly load: () => Sliced<void>
  readonly close: () => void
}

/** CORRUPTION if the file is missing or damaged. */
export function* openLists(source: ListsSource, expected: FileSum): Sliced<ListCodes> {
  const fd = openFile(source.path, source.name)
  return yield* closedUnlessDone(openCodes(source, fd, expected), () => closeSync(fd))
}

function* openCodes(source: ListsSource, fd: number, expected: FileSum): Sliced<CodesFile> {
  const { size } = fstatSync(fd)
  if (size !== expected.bytes) throw damaged(`${source.name} has another length`)
  const file = new CodesFile(source, fd, sizesIn(fd, source.name, size))
  yield* file.open(expected)
  return file
}

/** Lists whose file stays open: codes that are not in memory are read from it. */
class CodesFile implements ListCodes {
  readonly bytesOnDisk: number
  readonly #source: ListsSource
  readonly #fd: number
  readonly #sizes: ListSizes
  #table: ListsTable | undefined
  #codes: CodeMemory
  #reserved: number

  constructor(source: ListsSource, fd: number, sizes: ListSizes) {
    this.#source = source
    this.#fd = fd
    this.#sizes = sizes
    this.bytesOnDisk = codesAtOf(sizes) + codesBytesOf(sizes)
    this.#reserved = this.#reserve()
    this.#codes = this.#newMemory(this.isResident ? sizes.rowCount : ROWS_READ)
  }

  get table(): ListsTable {
    return must(this.#table, 'a table that was read')
  }

  get codes(): CodeMemory {
    return this.#codes
  }

  get isResident(): boolean {
    return this.#reserved > 0
  }

  /** Verifies every byte. Unless it is done, the lists are not used, and not closed. */
  *open(expected: FileSum): Sliced<void> {
    const giveBack = (): void => this.#source.memory.giveBack(this.#reserved)
    yield* closedUnlessDone(this.#readAll(expected), giveBack)
  }

  *#readAll(expected: FileSum): Sliced<void> {
    const { name } = this.#source
    const bytes = new Uint8Array(codesAtOf(this.#sizes))
    for (const part of verifiedParts({ fd: this.#fd, name, expected })) {
      copyPart(part, bytes, 0)
      copyPart(part, this.#codes.codes, bytes.length)
      yield
    }
    this.#table = readListsTable(bytes, name)
  }

  read(from: number, to: number): void {
    const { dimension, listCount } = this.#sizes
    const stride = strideOf(dimension)
    const into = this.#codes.codes.subarray(listCount * stride, (listCount + to - from) * stride)
    const at = codesAtOf(this.#sizes) + (listCount + from) * stride
    readExactly(this.#fd, into, at, this.#source.name)
  }

  *load(): Sliced<void> {
    if (this.isResident) return
    const reserved = this.#reserve()
    if (reserved === 0) return
    let isLoaded = false
    try {
      const codes = this.#newMemory(this.#sizes.rowCount)
      for (let from = 0; from < codes.codes.length; from += STEP_BYTES) {
        const part = codes.codes.subarray(from, from + STEP_BYTES)
        readExactly(this.#fd, part, codesAtOf(this.#sizes) + from, this.#source.name)
        yield
      }
      this.#codes = codes
      isLoaded = true
    } finally {
      if (isLoaded) this.#reserved = reserved
      else this.#source.memory.giveBack(reserved)
    }
  }

  close(): void {
    closeSync(this.#fd)
    this.#source.memory.giveBack(this.#reserved)
  }

  /** The bytes for all codes; 0 if there is no room for them. */
  #reserve(): number {
    const { dimension, listCount, rowCount } = this.#sizes
    const bytes = codesBytesOf(this.#sizes)
    const fits = fitsMemory(dimension, listCount + rowCount)
    return fits && this.#source.memory.reserve(bytes, CODES_SHARE) ? bytes : 0
  }

  #newMemory(rows: number): CodeMemory {
    const { dimension, listCount } = this.#sizes
    return this.#source.kernels.memoryOf(dimension, listCount + rows)
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
      *load() {},
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
