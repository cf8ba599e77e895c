// Documents from a file or from standard input, in any of the formats.

import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import type { ColumnTypes } from './csv-columns.ts'
import { CsvReader } from './csv-rows.ts'
import type { DocumentSource, SourceItem, SourceProgress } from './document-source.ts'
import { InputBytes, peek } from './input-bytes.ts'
import type { Input } from './input-bytes.ts'
import { detectFormat, HEAD_BYTES, refuseForeign } from './input-format.ts'
import type { DetectedFormat, InputFormat } from './input-format.ts'
import { readJsonValues } from './json-values.ts'
import { fieldsOfKey } from './key-rule.ts'
import type { KeyRule } from './key-rule.ts'
import { readLines } from './line-reader.ts'
import type { RawDocument } from './raw-document.ts'
import { readRawDocument } from './read-document.ts'

const READ_BYTES = 256 * 1024
const LINE_FEED = 0x0a
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** How to read the input; undefined options are detected. */
export interface ReadOptions {
  readonly keyRule: KeyRule
  readonly format?: InputFormat | undefined
  /** The delimiter of CSV. */
  readonly delimiter?: string | undefined
  /** The types of CSV columns; undefined: all are text. */
  readonly types?: ColumnTypes | undefined
}

/**
 * Detects the format with the first bytes and reads the documents. An input that is not one of the
 * formats throws a CliError while it is read.
 */
export class FileSource implements DocumentSource {
  readonly #input: Input
  readonly #bytes: InputBytes
  readonly #options: ReadOptions
  #csv: CsvReader | undefined
  #items = 0
  /** The items that came from an error report. */
  #reported = 0

  constructor(input: Input, options: ReadOptions) {
    this.#input = input
    this.#bytes = new InputBytes(input)
    this.#options = options
  }

  async *items(): AsyncIterable<SourceItem> {
    const { keyRule } = this.#options
    for await (const raw of this.#rawDocuments()) {
      const item = readRawDocument(raw, keyRule, () => (this.#reported += 1))
      if (item === undefined) continue
      this.#items += 1
      yield item
    }
  }

  get reportPath(): string | undefined {
    return this.#reported === this.#items ? this.#input.path : undefined
  }

  get remarks(): readonly string[] {
    const { numericColumns: numbers = [], structuredColumns: structures = [] } = this.#csv ?? {}
    return [
      ...remarkOn(numbers, { held: 'numbers', wanted: 'numbers', type: 'number' }),
      ...remarkOn(structures, { held: 'arrays or objects', wanted: 'them', type: 'json' }),
    ]
  }

  progress(): SourceProgress {
    return { done: this.#bytes.bytesRead, total: this.#input.bytes }
  }

  async *#rawDocuments(): AsyncGenerator<RawDocument> {
    const { head, chunks } = await peek(withoutMark(this.#bytes.decoded()), hasLine)
    refuseForeign(this.#input.path, head)
    const { format, delimiter } = this.#options
    const found = detectFormat({ path: this.#input.path, head, format, delimiter })
    yield* this.#readFormat(found, chunks)
  }

  #readFormat(
    { format, delimiter }: DetectedFormat,
    chunks: AsyncIterable<Buffer>,
  ): AsyncIterable<RawDocument> {
    if (format === 'ndjson') return readLines(chunks)
    if (format === 'json') return readJsonValues(chunks)
    const { types = new Map(), keyRule } = this.#options
    this.#csv = new CsvReader({ delimiter, types, keyFields: fieldsOfKey(keyRule) })
    return this.#csv.rows(chunks)
  }
}

/** The first line is enough to detect the format. */
function hasLine(head: Buffer): boolean {
  return head.length >= HEAD_BYTES || head.includes(LINE_FEED)
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true
  const { chunks: all } = await peek(chunks, ({ length }) => length >= BYTE_ORDER_MARK.length)
  for await (const chunk of all) {
    const hasMark = isFirst && chunk.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    yield hasMark ? chunk.subarray(BYTE_ORDER_MARK.length) : chunk
    isFirst = false
  }
}

/** Opens a file. Throws a CliError at once for a directory, a missing file or a known foreign format. */
export async function openFileSource(path: string, options: ReadOptions): Promise<FileSource> {
  const stats = await stat(path).catch((cause: unknown) => {
    const remedy = 'check the path, or use - to read standard input'
    throw new CliError(EXIT.usage, 'FILE', `cannot read ${path}: ${remedy}`, { cause })
  })
  if (stats.isDirectory()) {
    const remedy = 'name a file in it, or load installed packages with --npm DIR'
    throw new CliError(EXIT.usage, 'FILE', `${path} is a directory: ${remedy}`)
  }
  if (stats.isFile()) refuseForeign(path, await readHead(path))
  const openFile = (): Readable => createReadStream(path, { highWaterMark: READ_BYTES })
  return new FileSource({ open: openFile, path, bytes: stats.size }, options)
}

const MAGIC_BYTES = 4

async function readHead(path: string): Promise<Buffer> {
  let file: FileHandle | undefined
  try {
    file = await open(path)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC_BYTES))
    return buffer.subarray(0, bytesRead)
  } catch {
    return Buffer.alloc(0) // the later read reports the failure
  } finally {
    await file?.close()
  }
}

function remarkOn(
  names: readonly string[],
  { held, wanted, type }: { readonly held: string; readonly wanted: string; readonly type: string },
): readonly string[] {
  if (names.length === 0) return []
  const types = names.map((name) => `${name}:${type}`).join(',')
  const were = names.length === 1 ? 'was' : 'were'
  return [
    `${names.join(', ')} held only ${held} and ${were} loaded as text; ` +
      `to load ${wanted}, run it again with --types ${types}`,
  ]
}
