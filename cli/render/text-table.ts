// Formats tables: two spaces between columns, a dim header, no frames. On a terminal, rows are cut at
// its edge.

import { edgeOf, paint } from '../process/terminal.ts'
import type { Output, Style } from '../process/terminal.ts'
import { printable } from '../../lib/process/log-words.ts'
import { cutText, padEnd, padStart, textWidth } from './text-width.ts'

const GAP = 2
const SHRUNK_WIDTH_MIN = 8

/** A column of a table; `align` absent: left. */
export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** The style of a cell of the rows; undefined: as it is. */
  readonly styleOf?: (cell: string) => Style | undefined
}

type Screen = Pick<Output, 'columns' | 'isTty' | 'color'>

/** The layout of a table. Its first rows decide the widths for all rows. */
export class TextTable {
  readonly #columns: readonly Column[]
  readonly #widths: readonly number[]
  readonly #color: boolean

  constructor(columns: readonly Column[], sample: readonly (readonly string[])[], screen: Screen) {
    this.#columns = columns
    this.#color = screen.color
    const natural = columns.map(({ title }, at) =>
      Math.max(textWidth(title), ...sample.map((row) => textWidth(printable(row[at] ?? '')))),
    )
    this.#widths = fitWidths(natural, edgeOf(screen) - GAP * (columns.length - 1))
  }

  header(): string {
    const cells = this.#columns.map(({ title }) => title)
    return paint(
      { color: this.#color },
      'dim',
      this.#line(cells, () => undefined),
    )
  }

  row(cells: readonly string[]): string {
    return this.#line(cells, ({ styleOf }, cell) => styleOf?.(cell))
  }

  #line(
    cells: readonly string[],
    styleOf: (column: Column, cell: string) => Style | undefined,
  ): string {
    const shown = this.#columns.map((column, at) => {
      const width = this.#widths[at] ?? 0
      const whole = cells[at] ?? ''
      const cell = cutText(printable(whole), width)
      const padded = column.align === 'right' ? padStart(cell, width) : padEnd(cell, width)
      const style = styleOf(column, whole)
      if (style === undefined) return padded
      // Only the text, so that the line can be trimmed.
      return padded.replace(cell, () => paint({ color: this.#color }, style, cell))
    })
    return shown.join(' '.repeat(GAP)).trimEnd()
  }
}

/** Narrows the widest columns first, so that short ones (numbers, flags) stay complete. */
function fitWidths(natural: readonly number[], available: number): number[] {
  const widths = [...natural]
  let excess = widths.reduce((sum, width) => sum + width, 0) - available
  while (excess > 0) {
    const widest = Math.max(...widths)
    if (widest <= SHRUNK_WIDTH_MIN) break
    widths[widths.indexOf(widest)] = widest - 1
    excess -= 1
  }
  return widths
}

/** A whole table as text, without a final line feed. */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  screen: Screen,
): string {
  const table = new TextTable(columns, rows, screen)
  return [table.header(), ...rows.map((row) => table.row(row))].join('\n')
}
