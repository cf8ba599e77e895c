// Shows the lines of a scan as a table. The first lines decide the widths of the columns.

import { memberOf, parseExactAnswer } from '../service/service-answers.ts'
import { paint } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { plural } from './quantity.ts'
import { TextTable } from './text-table.ts'

const SAMPLE_LINES = 100
/** Longer cells are cut before their width is measured. No screen shows 400 characters. */
const CELL_CHARACTERS_MAX = 400

/** The view of one scan. It holds at most the sample of the first lines. */
export class ScanView {
  readonly #fields: readonly string[] | undefined
  readonly #screen: Output
  #sample: unknown[] = []
  #layout: { readonly table: TextTable; readonly columns: readonly string[] } | undefined
  #count = 0

  constructor(fields: readonly string[] | undefined, screen: Output) {
    this.#fields = fields
    this.#screen = screen
  }

  /** Takes a line of the scan and returns the text to print; empty while the sample is collected. */
  add(line: string): string {
    this.#count += 1
    const document = parseExactAnswer(line)
    if (this.#layout !== undefined) return this.#layout.table.row(this.#cells(document))
    this.#sample.push(document)
    return this.#sample.length < SAMPLE_LINES ? '' : this.#showSample()
  }

  /** The text to print after the last line. */
  end(): string {
    const shown = this.#layout === undefined && this.#count > 0 ? `${this.#showSample()}\n` : ''
    return shown + paint(this.#screen, 'dim', plural(this.#count, 'document'))
  }

  #showSample(): string {
    const columns = ['key', ...this.#columnsOf(this.#sample)]
    const rows = this.#sample.map((document) => columns.map((name) => cellText(document, name)))
    const titles = columns.map((title) => ({ title: title.toUpperCase() }))
    const table = new TextTable(titles, rows, this.#screen)
    this.#layout = { table, columns }
    this.#sample = []
    return [table.header(), ...rows.map((row) => table.row(row))].join('\n')
  }

  #cells(document: unknown): string[] {
    return (this.#layout?.columns ?? []).map((name) => cellText(document, name))
  }

  /** The requested fields. With a wildcard or an exclusion, the fields that the sample holds. */
  #columnsOf(sample: readonly unknown[]): string[] {
    const fields = this.#fields ?? []
    if (fields.every((field) => !field.includes('*') && !field.startsWith('-'))) return [...fields]
    const names = new Set<string>()
    for (const document of sample) {
      if (typeof document !== 'object' || document === null) continue
      for (const name of Object.keys(document)) if (name !== 'key') names.add(name)
    }
    return [...names]
  }
}

function cellText(document: unknown, path: string): string {
  let value = memberOf(document, path)
  if (value === undefined) {
    value = document
    for (const name of path.split('.')) value = memberOf(value, name)
  }
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.slice(0, CELL_CHARACTERS_MAX)
}
