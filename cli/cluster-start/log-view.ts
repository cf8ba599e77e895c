// The log lines of several processes in one terminal: each with the name of its process, in its colour.

import { logWords } from '../../lib/process/log-words.ts'
import { writeLine, paint } from '../process/terminal.ts'
import type { Output, Style } from '../process/terminal.ts'
import { printable } from '../../lib/process/log-words.ts'

const COLOURS: readonly Style[] = ['cyan', 'magenta', 'blue', 'green']
const LEVEL_STYLES = new Map<string, Style>([
  ['warn', 'yellow'],
  ['error', 'red'],
  ['fatal', 'red'],
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
    const words = logWords(line)
    if (words === undefined) return printable(line)
    const { level, message, fields } = words
    const style = LEVEL_STYLES.get(level)
    const text = style === undefined ? message : paint(this.#output, style, `${level}: ${message}`)
    const end = fields === '' ? '' : ` ${paint(this.#output, 'dim', fields)}`
    return `${text}${end}`
  }
}

/** Whether a line of etcd's log tells of something that is wrong. */
export function isWarning(line: string): boolean {
  const level = logWords(line)?.level ?? ''
  return level === '' || LEVEL_STYLES.has(level)
}
