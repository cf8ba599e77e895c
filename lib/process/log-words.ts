// A line of a server's log for a person: `server serves api=http://127.0.0.1:8080`.

import { isJsonRecord } from '../json-record.ts'

/** Members that are said elsewhere, or that are the same in every line of a process. */
const SAID: ReadonlySet<string> = new Set([
  'level',
  'time',
  'ts',
  'msg',
  'server',
  'pid',
  'hostname',
  'caller',
])

const LEVEL_WIDTH = 5

/** What a person reads of a line of a log. */
export interface LogWords {
  readonly level: string
  readonly message: string
  /** `name=value` for each further member, with a blank between them. */
  readonly fields: string
}

/** Undefined for what is not a line of a log in JSON. */
export function logWords(line: string): LogWords | undefined {
  const entry = parseEntry(line)
  if (entry === undefined || typeof entry['msg'] !== 'string') return undefined
  const fields = Object.entries(entry).filter(([name]) => !SAID.has(name))
  return {
    level: typeof entry['level'] === 'string' ? entry['level'] : '',
    message: printable(entry['msg']),
    fields: fields.map(([name, value]) => `${name}=${printable(textOf(value))}`).join(' '),
  }
}

/** A line of a log as a person reads it; any other line as it is. */
export function shownLine(line: string): string {
  const words = logWords(line)
  if (words === undefined) return line.trimEnd()
  const { level, message, fields } = words
  return [level.padEnd(LEVEL_WIDTH), message, fields].join(' ').trimEnd()
}

/** The text on one line without control characters, because logged text must not control the terminal. */
export function printable(text: string): string {
  // The controls of C0 and C1, delete, and the marks that reorder text.
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function parseEntry(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isJsonRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
