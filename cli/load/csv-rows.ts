// Turns rows of CSV (RFC 4180) into documents, with one field for each column of the header.
//
// A value is text unless its column has another type, so that "01234" and "1.10" keep their digits.
// An empty cell leaves its field out; `""` is an empty text.

import { parse } from 'csv-parse'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../lib/errors.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError, usageError } from '../process/exit.ts'
import { cellJson, columnOf, looksNumeric, looksStructured } from './csv-columns.ts'
import type { Column, ColumnTypes } from './csv-columns.ts'
import { DOCUMENT_BYTES_MAX } from './raw-document.ts'
import type { RawDocument } from './raw-document.ts'

/** How to read a CSV input. */
export interface CsvOptions {
  readonly delimiter: string
  readonly types: ColumnTypes
  /** The fields of the key. A header without one of them is refused. */
  readonly keyFields: readonly string[]
}

/** One row from the parser. An empty cell without quotes is null. */
interface CsvRow {
  readonly record: readonly (string | null)[]
  readonly info: { readonly lines: number }
  readonly raw: string
}

/**
 * Reads one CSV input. A bad header or malformed CSV throws a CliError; a bad row becomes a
 * document with a problem.
 */
export class CsvReader {
  readonly #options: CsvOptions
  #columns: readonly Column[] | undefined
  /** The first line of the next row. */
  #line = 1

  constructor(options: CsvOptions) {
    this.#options = options
  }

  /** The text columns that held only numbers so far. */
  get numericColumns(): string[] {
    const columns = this.#columns ?? []
    return columns.filter((column) => looksNumeric(column)).map(({ name }) => name)
  }

  /** The text columns that held only arrays and objects in JSON so far. */
  get structuredColumns(): string[] {
    const columns = this.#columns ?? []
    return columns.filter((column) => looksStructured(column)).map(({ name }) => name)
  }

  /** One document for each row after the header. May be called once. */
  async *rows(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RawDocument> {
    const parser = parse({
      delimiter: this.#options.delimiter,
      info: true,
      raw: true,
      cast: (cell, { quoting }) => (cell === '' && !quoting ? null : cell),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: DOCUMENT_BYTES_MAX,
    })
    // The error reaches the reader through the iteration below; pipeline's own promise repeats it.
    const feeding = pipeline(decodeUtf8(chunks), parser).catch(() => {})
    try {
      for await (const row of parser) yield* this.#read(row)
    } catch (cause) {
      throw cause instanceof CliError ? cause : this.#explain(cause)
    } finally {
      parser.destroy()
      await feeding
    }
  }

  *#read({ record, info, raw }: CsvRow): Generator<RawDocument> {
    const line = this.#line
    this.#line = info.lines + 1
    if (this.#columns === undefined) this.#columns = this.#readHeader(record)
    else yield this.#document(line, record, raw)
  }

  #readHeader(record: readonly (string | null)[]): Column[] {
    const { keyFields, types } = this.#options
    const names = record.map((name) => (name ?? '').trim())
    const unnamed = names.indexOf('')
    if (unnamed !== -1) throw usageError(`column ${unnamed + 1} has no name in the header`)
    const twice = names.find((name, at) => names.indexOf(name) !== at)
    if (twice !== undefined) throw usageError(`the header names the column "${twice}" twice`)
    const known = `the columns are ${names.join(', ')}`
    const key = keyFields.find((name) => !names.includes(name))
    if (key !== undefined) {
      throw usageError(`no column "${key}" for the key: ${known}; choose one with --key`)
    }
    const typed = [...types.keys()].find((name) => !names.includes(name))
    if (typed !== undefined) throw usageError(`--types: no column "${typed}": ${known}`)
    return names.map((name) => columnOf(name, { types, isKey: keyFields.includes(name) }))
  }

  #document(line: number, record: readonly (string | null)[], raw: string): RawDocument {
    const columns = this.#columns ?? []
    const bytes = Buffer.from(raw.replace(/\r?\n$/, ''))
    if (record.length !== columns.length) {
      const problem = `the row has ${record.length} cells, but the header has ${columns.length}`
      return { line, bytes, problem }
    }
    const members: string[] = []
    for (const [at, column] of columns.entries()) {
      const cell = record[at]
      if (cell === null || cell === undefined) continue
      const json = cellJson(column, cell)
      if (json === undefined) {
        return {
          line,
          bytes,
          problem: `column ${column.name}: "${cell}" is not of type ${column.type}`,
        }
      }
      if (json !== '') members.push(`${JSON.stringify(column.name)}:${json}`)
    }
    return { line, bytes: Buffer.from(`{${members.join(',')}}`) }
  }

  #explain(cause: unknown): CliError {
    const message = `the input is not CSV: ${messageOf(cause)}`
    return new CliError(EXIT.refused, 'FILE', message, { cause })
  }
}

async function* decodeUtf8(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    const message = 'the input is not UTF-8: convert it first, for instance with iconv'
    throw new CliError(EXIT.refused, 'FILE', message, { cause })
  }
}
