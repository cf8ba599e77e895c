// Documents from lines of JSON: a file, a compressed file, or standard input.

import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { Readable, Transform } from 'node:stream'
import { messageOf } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import { CliError, EXIT } from '../exit.ts'
import { parseReportLine } from './error-report.ts'
import { keyOf } from './key-rule.ts'
import { readLines } from './line-reader.ts'
import type { DocumentSource, SourceItem, SourceProgress } from './document-source.ts'
import type { ReportedDocument } from './error-report.ts'
import type { KeyResult, KeyRule } from './key-rule.ts'
import type { Line } from './line-reader.ts'

const READ_BYTES = 256 * 1024
const TOO_LONG = 'the line is longer than 64 MiB, the most that one request may hold'
const NOT_UTF8 = 'the line is not UTF-8: convert the file first, for instance with iconv'
const NOT_JSON = 'the line is not JSON: each line must hold one whole JSON object'
const NOT_OBJECT = 'the line is not a JSON object: each line must be one document, like {"id": 1}'

const DECOMPRESSORS = { '.gz': createGunzip, '.zst': createZstdDecompress }

export interface NdjsonInput {
  /** Called when the first line is asked for: nobody would hear the errors of a stream before. */
  readonly open: () => Readable
  readonly path?: string
  readonly bytes?: number
}

export class NdjsonSource implements DocumentSource {
  readonly #input: NdjsonInput
  readonly #decoded: AsyncIterable<Uint8Array>
  readonly #keyRule: KeyRule
  #bytesRead = 0
  #items = 0
  /** Of them, those that are lines of an error report. */
  #reported = 0

  constructor(input: NdjsonInput, keyRule: KeyRule) {
    this.#input = input
    this.#keyRule = keyRule
    this.#decoded = decode(this.#counted(), input.path ?? '')
  }

  async *items(): AsyncIterable<SourceItem> {
    for await (const line of readLines(this.#decoded)) {
      const item = readItem(line, this.#keyRule, () => (this.#reported += 1))
      if (item === undefined) continue
      this.#items += 1
      yield item
    }
  }

  get reportPath(): string | undefined {
    return this.#reported === this.#items ? this.#input.path : undefined
  }

  progress(): SourceProgress {
    return { done: this.#bytesRead, total: this.#input.bytes }
  }

  async *#counted(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#input.open()) {
        const bytes = Buffer.from(chunk)
        this.#bytesRead += bytes.length
        yield bytes
      }
    } catch (cause) {
      const what = this.#input.path ?? 'standard input'
      const message = `cannot read ${what}: ${messageOf(cause)}`
      throw new CliError(EXIT.refused, 'FILE', message, { cause })
    }
  }
}

export async function openNdjsonFile(path: string, keyRule: KeyRule): Promise<NdjsonSource> {
  const stats = await stat(path).catch((cause: unknown) => {
    const remedy = 'check the path, or use - to read standard input'
    throw new CliError(EXIT.usage, 'FILE', `cannot read ${path}: ${remedy}`, { cause })
  })
  if (stats.isDirectory()) {
    const remedy = 'name a file of JSON lines in it, or load installed packages with --npm DIR'
    throw new CliError(EXIT.usage, 'FILE', `${path} is a directory: ${remedy}`)
  }
  const open = (): Readable => createReadStream(path, { highWaterMark: READ_BYTES })
  return new NdjsonSource({ open, path, bytes: stats.size }, keyRule)
}

function decode(chunks: AsyncIterable<Buffer>, path: string): AsyncIterable<Uint8Array> {
  const found = Object.entries(DECOMPRESSORS).find(([extension]) => path.endsWith(extension))
  if (found === undefined) return chunks
  const [, createDecompressor] = found
  return decompress(chunks, createDecompressor(), path)
}

async function* decompress(
  chunks: AsyncIterable<Buffer>,
  decompressor: Transform,
  path: string,
): AsyncGenerator<Buffer> {
  // The error reaches the reader through the iteration below; pipeline's own promise repeats it.
  const feeding = pipeline(chunks, decompressor).catch(() => {})
  try {
    yield* decompressor
  } catch (cause) {
    if (cause instanceof CliError) throw cause
    const remedy = 'is it whole, and what its name says it is?'
    throw new CliError(EXIT.refused, 'FILE', `cannot decompress ${path}: ${remedy}`, { cause })
  } finally {
    decompressor.destroy()
    await feeding
  }
}

/** What a line holds; undefined for a blank line. */
function readItem(line: Line, keyRule: KeyRule, onReported: () => void): SourceItem | undefined {
  if (line.tooLong) return unreadable(line, { problem: TOO_LONG, isJson: false })
  if (!isUtf8(line.bytes)) return unreadable(line, { problem: NOT_UTF8, isJson: false })
  const text = line.bytes.toString('utf8')
  if (text.trim().length === 0) return undefined
  return readDocument(line, text, (value) => {
    const reported = parseReportLine(value, line.bytes)
    if (reported === undefined) return withKey(line, keyOf(keyRule, value, text))
    onReported()
    return readReported(line.number, reported, keyRule)
  })
}

/** What a line of an error report was about: its document, under the key that it had. */
function readReported(
  number: number,
  { key, bytes }: ReportedDocument,
  keyRule: KeyRule,
): SourceItem {
  const text = bytes.toString('utf8')
  return readDocument({ number, bytes }, text, (value) =>
    withKey(
      { number, bytes },
      key === undefined ? keyOf(keyRule, value, text) : { kind: 'key', key },
    ),
  )
}

function readDocument(
  line: NumberedBytes,
  text: string,
  read: (value: object) => SourceItem,
): SourceItem {
  const value = parseJson(text)
  if (value === undefined) return unreadable(line, { problem: NOT_JSON, isJson: false })
  if (!isJsonRecord(value)) return unreadable(line, { problem: NOT_OBJECT, isJson: true })
  return read(value)
}

interface NumberedBytes {
  readonly number: number
  readonly bytes: Buffer
}

function withKey({ number, bytes }: NumberedBytes, found: KeyResult): SourceItem {
  if (found.kind === 'problem') {
    return unreadable({ number, bytes }, { problem: found.problem, isJson: true })
  }
  return { kind: 'document', document: { line: number, key: found.key, json: bytes } }
}

function unreadable(
  { number, bytes }: NumberedBytes,
  { problem, isJson }: { problem: string; isJson: boolean },
): SourceItem {
  return {
    kind: 'unreadable',
    unreadable: { line: number, key: undefined, text: bytes, isJson, problem },
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // JSON has no undefined, so this is free to say "not JSON"
  }
}
