// The log lines of several processes in one terminal: each with the name of its process, in its colour.

import { writeLine, paint } from '../process/terminal.ts'
import type { Output, Style } from '../process/terminal.ts'
import { printable } from '../render/text-width.ts'
import { memberOf, parseAnswer } from '../service/service-answers.ts'

const COLOURS: readonly Style[] = ['cyan', 'magenta', 'blue', 'green']
const LEVEL_STYLES = new Map<string, Style>([
  ['warn', 'yellow'],
  ['error', 'red'],
  ['fatal', 'red'],
])
/** Members that a line shows elsewhere, or that are the same in every line of a process. */
const SHOWN: ReadonlySet<string> = new Set([
  'level',
  'time',
  'ts',
  'msg',
  'server',
  'pid',
  'hostname',
  'caller',
])

/** Writes lines of processes. */
export class LogView {
  readonly #output: Output
  readonly #width: number
  readonly #colours: ReadonlyMap<string, Style>

  constructor(output: Output, names: readonly string[]) {
    this.#output = output
    this.#width = Math.max(...names.map((name) => name.length))
    this.#colours = new Map(
      names.map((name, at) => [name, COLOURS[at % COLOURS.length] ?? 'cyan'] as const),
    )
  }

  /** A line of a log in JSON as a sentence with its fields; any other line as it is. */
  line(name: string, line: string): void {
    this.#write(name, this.#shown(line))
  }

  /** What became of a process. */
  event(name: string, sentence: string): void {
    this.#write(name, paint(this.#output, 'bold', printable(sentence)))
  }

  #write(name: string, text: string): void {
    const prefix = paint(this.#output, this.#colours.get(name) ?? 'cyan', name.padEnd(this.#width))
    void writeLine(this.#output, `${prefix} ${paint(this.#output, 'dim', '│')} ${text}`)
  }

  #shown(line: string): string {
    const entry = parseEntry(line)
    const message = memberOf(entry, 'msg')
    if (typeof message !== 'string') return printable(line)
    const level = memberOf(entry, 'level')
    const style = typeof level === 'string' ? LEVEL_STYLES.get(level) : undefined
    const said = printable(message)
    const text =
      style === undefined ? said : paint(this.#output, style, `${String(level)}: ${said}`)
    const fields = fieldsOf(entry)
    const end = fields === '' ? '' : ` ${paint(this.#output, 'dim', fields)}`
    return `${text}${end}`
  }
}

/** Whether a line of etcd's log tells of something that is wrong. */
export function isWarning(line: string): boolean {
  const entry = parseEntry(line)
  const level = memberOf(entry, 'level')
  return typeof level !== 'string' || LEVEL_STYLES.has(level)
}

function fieldsOf(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null) return ''
  const fields = Object.entries(entry).filter(([name]) => !SHOWN.has(name))
  return fields.map(([name, value]) => `${name}=${printable(textOf(value))}`).join(' ')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function parseEntry(line: string): unknown {
  if (!line.startsWith('{')) return undefined
  try {
    return parseAnswer(line)
  } catch {
    return undefined
  }
}
