// Detects the format of an input from an option, its name or its first bytes. Pure.

import path from 'node:path'
import { ownCommand, shellWord } from '../../lib/own-command.ts'
import { usageError } from '../process/exit.ts'

export const INPUT_FORMATS = ['ndjson', 'json', 'csv', 'tsv'] as const
export type InputFormat = (typeof INPUT_FORMATS)[number]

/** This many bytes are enough to detect the format, even if the first line is longer. */
export const HEAD_BYTES = 64 * 1024

const FORMAT_BY_EXTENSION: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
}
const JSON_EXTENSIONS: ReadonlySet<string> = new Set(['.ndjson', '.jsonl', '.json'])
const COMPRESSED = /\.(?:gz|zst)$/i
/** The delimiters that are detected: the one that occurs most often in the header is used. */
const DELIMITERS = [',', ';', '\t', '|'] as const

/** The format to read. Tab-separated values are CSV with a tab. */
export interface DetectedFormat {
  readonly format: 'ndjson' | 'json' | 'csv'
  /** The delimiter; used only for CSV. */
  readonly delimiter: string
}

/** The facts that decide the format. */
export interface InputFacts {
  /** Undefined for standard input. */
  readonly path: string | undefined
  /** At least the first line, or HEAD_BYTES bytes, or the whole input. */
  readonly head: Buffer
  /** The user's options; undefined: detect. */
  readonly format: InputFormat | undefined
  readonly delimiter: string | undefined
}

/** An option decides first, then the file's extension, then its first line. */
export function detectFormat(facts: InputFacts): DetectedFormat {
  const head = facts.head.toString('utf8')
  const extension = path.extname((facts.path ?? '').replace(COMPRESSED, '')).toLowerCase()
  const named = facts.format ?? FORMAT_BY_EXTENSION[extension]
  const format = named ?? (JSON_EXTENSIONS.has(extension) ? jsonFormat(head) : sniff(head))
  const isTabbed = format === 'tsv'
  const delimiter = facts.delimiter ?? (isTabbed ? '\t' : delimiterOf(firstLine(head)))
  return { format: isTabbed ? 'csv' : format, delimiter }
}

/** `json` for an array, and for objects over several lines, whose first line is a lone brace. */
function jsonFormat(head: string): 'ndjson' | 'json' {
  const line = firstLine(head)
  return line.startsWith('[') || line === '{' ? 'json' : 'ndjson'
}

function sniff(head: string): InputFormat {
  const line = firstLine(head)
  const looksLikeHeader = /^[^{["]/.test(line) || /^"[^"]*"[,;\t|]/.test(line)
  const hasCells = DELIMITERS.some((delimiter) => line.includes(delimiter))
  return looksLikeHeader && hasCells ? 'csv' : jsonFormat(head)
}

/** The first line that is not blank, without the white space around it. */
function firstLine(head: string): string {
  return head.trimStart().split('\n', 1)[0]?.trimEnd() ?? ''
}

function delimiterOf(header: string): string {
  const outside = header.replaceAll(/"[^"]*"/g, '')
  const counts = DELIMITERS.map((delimiter) => outside.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}

/** Parses `--delimiter`: one character, or `\t` or `tab`, because a tab is hard to type in a shell. */
export function parseDelimiter(text: string): string {
  const delimiter = text === '\\t' || text === 'tab' ? '\t' : text
  if (delimiter.length === 1 && !/["\r\n]/.test(delimiter)) return delimiter
  throw usageError(`--delimiter: "${text}" is not one character, such as ; or tab`)
}

interface ForeignFormat {
  readonly name: string
  readonly magic: readonly string[]
  readonly remedy: (place: string) => string
}

/** Common formats that a load cannot read. `place` is the file's path for the example commands. */
const FOREIGN_FORMATS: readonly ForeignFormat[] = [
  {
    name: 'Parquet',
    magic: ['50415231'],
    remedy: (place) =>
      'pipe it through a program that reads it, for instance\n' +
      `duckdb -c "COPY (FROM '${place}') TO '/dev/stdout' (FORMAT json)" | ${ownCommand('load TABLE -')}`,
  },
  {
    name: 'a zip archive or a spreadsheet',
    magic: ['504b0304'],
    remedy: () => 'unpack it, or export the sheet as CSV',
  },
  {
    name: 'UTF-16',
    magic: ['fffe', 'feff'],
    remedy: (place) =>
      `convert it first: iconv -f UTF-16 -t UTF-8 ${shellWord(place)} | ${ownCommand('load TABLE -')}`,
  },
]

/** Throws a usage error, with a remedy, for a format that no option can make readable. */
export function refuseForeign(place: string | undefined, head: Buffer): void {
  const start = head.subarray(0, 4).toString('hex')
  const found = FOREIGN_FORMATS.find(({ magic }) => magic.some((each) => start.startsWith(each)))
  if (found === undefined) return
  const subject = place ?? 'standard input'
  throw usageError(`${subject} is ${found.name}: ${found.remedy(place ?? 'FILE')}`)
}
