import type { Command } from 'commander'
import { ownCommand } from '../../lib/own-command.ts'
import { ServiceRefusal, tablePath } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { compareKeys, endOfPrefix } from '../service/key-prefix.ts'
import { ScanView } from '../render/scan-view.ts'
import { memberOf, parseAnswer } from '../service/service-answers.ts'
import { write, writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import {
  clientCommand,
  examples,
  integerOption,
  openClient,
  STALE_OPTION,
  withConsistency,
} from './client-command.ts'
import type { ClientOptions } from './client-command.ts'
import { parseFilter, splitList } from './option-values.ts'

const LINE_FEED = 0x0a
/** The beginning of the last line of an interrupted scan. Every other line begins with `{"key":` or `{"_key":`. */
const ERROR_LINE = Buffer.from('{"error":')

interface ScanOptions extends ClientOptions {
  readonly from?: string
  readonly to?: string
  readonly prefix?: string
  readonly fields?: string
  readonly envelope?: boolean
  readonly limit?: number
  readonly filter?: string
  readonly stale?: boolean
}

export function addScanCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('scan <table>'), context)
    .summary('print a range of documents')
    .description('Print a range of documents in key order, from one consistent snapshot.')
    .option('--from <key>', 'first key (inclusive)')
    .option('--to <key>', 'key to stop before (exclusive)')
    .option('--prefix <text>', 'only keys with this prefix')
    .option('--fields <list>', 'fields beside the key, comma separated: title,author.name')
    .option(
      '--envelope',
      `whole documents beside their keys, for "${ownCommand('load')}": nothing is lost`,
    )
    .option('--limit <n>', 'at most this many', integerOption(1, Number.MAX_SAFE_INTEGER))
    .option('--filter <json>', `only documents that match, like '{"term":"MIT","field":"license"}'`)
    .option(...STALE_OPTION)
    .addHelpText(
      'after',
      `
On a terminal, the documents are shown as a table. In a pipe or a file, or with
--json, they are lines of JSON. Without --fields, the lines hold only the keys.
A field "key" of a document gives way to its key. With --envelope, nothing does:
each line is {"_key": ..., "_document": ...}, and "${ownCommand('load')}" understands it.
${examples(
  ['all keys', ownCommand('scan books')],
  [
    'titles of a part of the table',
    ownCommand('scan books --prefix book/ --fields title --limit 20'),
  ],
  [
    'copy a table',
    `${ownCommand('scan books --envelope')} | ${ownCommand('load copies - --create')}`,
  ],
  ['keep a table in a file', ownCommand('scan books --envelope | gzip > books.ndjson.gz')],
)}`,
    )
    .action(async (table: string, options: ScanOptions) => {
      const body = JSON.stringify(buildScanRequest(options))
      const path = withConsistency(`${tablePath(table)}/lookup`, options)
      const pages = wholeLines(openClient(options, context).stream({ method: 'POST', path, body }))
      const { out } = context.terminal
      const asLines = options.json === true || options.envelope === true || !out.isTty
      if (asLines) return copyPages(pages, out)
      return showPages(pages, new ScanView(fieldsOf(options), out), out)
    })
}

/** The request body of a scan, as the contract names its members. */
export interface ScanBody {
  readonly from?: string
  readonly to?: string
  readonly inclusive_from?: true
  readonly exclusive_to?: true
  readonly fields?: readonly string[]
  readonly envelope?: true
  readonly limit?: number
  readonly filter_query?: unknown
}

/** The request for the options. Throws a usage error for a filter that is not JSON. */
export function buildScanRequest(options: Omit<ScanOptions, 'url' | 'json'>): ScanBody {
  const { from, to } = keyRange(options)
  const fields = fieldsOf(options)
  return {
    ...(from === undefined ? {} : { from, inclusive_from: true }),
    ...(to === undefined ? {} : { to, exclusive_to: true }),
    ...(fields === undefined ? {} : { fields }),
    ...(options.envelope === true ? { envelope: true } : {}),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    ...(options.filter === undefined ? {} : { filter_query: parseFilter(options.filter) }),
  }
}

function fieldsOf({ fields }: Pick<ScanOptions, 'fields'>): string[] | undefined {
  return fields === undefined ? undefined : splitList(fields)
}

/** The intersection of the prefix and the range. An empty text does not bound the range. */
function keyRange({ from, to, prefix }: Omit<ScanOptions, 'url'>): { from?: string; to?: string } {
  const start = [from, prefix].filter(isBound).toSorted(compareKeys).at(-1)
  const end = [to, endOfPrefix(prefix ?? '')].filter(isBound).toSorted(compareKeys).at(0)
  return {
    ...(start === undefined ? {} : { from: start }),
    ...(end === undefined ? {} : { to: end }),
  }
}

function isBound(key: string | undefined): key is string {
  return key !== undefined && key !== ''
}

/** Cuts a stream after its last line feed, and turns the service's error line into an error. */
async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(LINE_FEED) + 1
    rest = bytes.subarray(end)
    if (end > 0) yield* untilErrorLine(bytes.subarray(0, end))
  }
  if (rest.length > 0) yield* untilErrorLine(rest)
}

function* untilErrorLine(page: Buffer): Generator<Buffer> {
  const start = page.lastIndexOf(LINE_FEED, page.length - 2) + 1
  const last = page.subarray(start)
  if (!last.subarray(0, ERROR_LINE.length).equals(ERROR_LINE)) return yield page
  if (start > 0) yield page.subarray(0, start)
  throw brokenScan(last.toString('utf8'))
}

function brokenScan(line: string): ServiceRefusal {
  const body = parseAnswer(line)
  return new ServiceRefusal({
    status: 200,
    code: String(memberOf(body, 'code')),
    message: `the scan was interrupted: ${String(memberOf(body, 'error'))}`,
    body: line,
  })
}

async function copyPages(pages: AsyncIterable<Buffer>, out: Output): Promise<void> {
  for await (const page of pages) await write(out, page)
}

async function showPages(pages: AsyncIterable<Buffer>, view: ScanView, out: Output): Promise<void> {
  for await (const page of pages) {
    for (const line of page.toString('utf8').split('\n')) {
      const text = line === '' ? '' : view.add(line)
      if (text !== '') await writeLine(out, text)
    }
  }
  await writeLine(out, view.end())
}
