// The columns of a CSV input: their types, and the conversion of their cells to JSON.

import { usageError } from '../process/exit.ts'

const COLUMN_TYPES = ['text', 'number', 'boolean', 'json'] as const
export type ColumnType = (typeof COLUMN_TYPES)[number]
/** Types by the names of columns. Other columns are text. */
export type ColumnTypes = ReadonlyMap<string, ColumnType>

/** A column with its statistics. */
export interface Column {
  readonly name: string
  readonly type: ColumnType
  readonly isKey: boolean
  /** The number of cells so far, and of those that are numbers in JSON. */
  cells: number
  numbers: number
  /** The number of cells that are arrays or objects in JSON. */
  structures: number
}

/** RFC 8259, 6. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Parses `price:number,tags:json`. The part after the last colon is the type. */
export function parseColumnTypes(text: string): ColumnTypes {
  const types = new Map<string, ColumnType>()
  for (const part of text.split(',').map((each) => each.trim())) {
    const at = part.lastIndexOf(':')
    const type = COLUMN_TYPES.find((known) => known === part.slice(at + 1))
    if (at < 1 || type === undefined) {
      const known = COLUMN_TYPES.join(', ')
      throw usageError(`--types: "${part}" is not COLUMN:TYPE; types are ${known}`)
    }
    types.set(part.slice(0, at), type)
  }
  return types
}

/** A column without cells. */
export function columnOf(
  name: string,
  { types, isKey }: { readonly types: ColumnTypes; readonly isKey: boolean },
): Column {
  return { name, type: types.get(name) ?? 'text', isKey, cells: 0, numbers: 0, structures: 0 }
}

/** The cell as JSON; '' if its field is left out; undefined if it is not of the column's type. */
export function cellJson(column: Column, cell: string): string | undefined {
  column.cells += 1
  if (column.type === 'text') {
    if (NUMBER.test(cell)) column.numbers += 1
    else if (column.structures + 1 === column.cells && isStructure(cell)) column.structures += 1
    return JSON.stringify(cell)
  }
  const text = cell.trim()
  if (text === '') return ''
  return JSON_OF[column.type](text)
}

/** Converts a cell that is not empty; undefined if it is not of the type. */
const JSON_OF: Readonly<Record<Exclude<ColumnType, 'text'>, (cell: string) => string | undefined>> =
  {
    number: (cell) => (NUMBER.test(cell) ? cell : undefined),
    boolean: (cell) => (/^(?:true|false)$/i.test(cell) ? cell.toLowerCase() : undefined),
    json: (cell) => (isJson(cell) ? cell.replaceAll(/[\r\n]+/g, ' ') : undefined),
  }

/** Whether a text column holds only numbers. Keys do not count, because they are always text. */
export function looksNumeric({ type, isKey, cells, numbers }: Column): boolean {
  return type === 'text' && !isKey && cells > 0 && cells === numbers
}

/** Whether a text column holds only arrays and objects in JSON. */
export function looksStructured({ type, isKey, cells, structures }: Column): boolean {
  return type === 'text' && !isKey && cells > 0 && cells === structures
}

function isStructure(cell: string): boolean {
  return /^\s*[[{]/.test(cell) && isJson(cell)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
