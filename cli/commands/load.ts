import type { Readable } from 'node:stream'
import { Option } from 'commander'
import type { Command } from 'commander'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand, shellWord } from '../../lib/own-command.ts'
import { ServiceRefusal, tablePath } from '../service/api-client.ts'
import type { ApiClient } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { CliError, usageError } from '../process/exit.ts'
import { parseColumnTypes } from '../load/csv-columns.ts'
import type { DocumentSource } from '../load/document-source.ts'
import { refuseOtherThanFile } from '../load/error-report-file.ts'
import { FileSource, openFileSource } from '../load/file-source.ts'
import type { ReadOptions } from '../load/file-source.ts'
import { INPUT_FORMATS, parseDelimiter } from '../load/input-format.ts'
import type { InputFormat } from '../load/input-format.ts'
import { parseKeyRule } from '../load/key-rule.ts'
import type { KeyRule } from '../load/key-rule.ts'
import { describeLacking, waitForIndexes, type Lacking } from '../load/index-wait.ts'
import { loadDocuments } from '../load/load-documents.ts'
import type { LoadResult } from '../load/load-documents.ts'
import { openNpmSource } from '../load/npm-source.ts'
import { formatBytes, formatCount, formatDuration, plural } from '../render/quantity.ts'
import { paint, writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { clientCommand, examples, integerOption, openClient } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

const BATCH_SIZE_MAX = 10_000
const CONCURRENCY_MAX = 64

/** The defaults of `--batch-size` (documents) and `--concurrency` (requests). */
export const LOAD_DEFAULTS = { batchSize: 500, concurrency: 4 } as const

interface LoadCommandOptions extends ClientOptions {
  readonly npm?: string | true
  readonly key?: string
  readonly keyTemplate?: string
  readonly format?: InputFormat
  readonly types?: string
  readonly delimiter?: string
  readonly batchSize: number
  readonly concurrency: number
  readonly errors?: string
  readonly create?: boolean
  readonly wait: boolean
}

export function addLoadCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('load <table> [file]'), context)
    .summary('load documents')
    .description('Load documents: JSON, CSV, or the packages of a node_modules directory.')
    .option('--npm [dir]', 'load installed packages (default directory: node_modules)')
    .option('--key <field>', 'field with the key (default: id); a.b reaches inside')
    .option('--key-template <template>', "key made of fields, like '{country}/{city}'")
    .addOption(
      new Option('--format <format>', 'the format of FILE (default: detected)').choices(
        INPUT_FORMATS,
      ),
    )
    .option('--types <list>', 'types of CSV columns other than text, like price:number,tags:json')
    .option('--delimiter <character>', 'between the cells of CSV (default: detected)')
    .option(
      '--batch-size <n>',
      'documents per request',
      integerOption(1, BATCH_SIZE_MAX),
      LOAD_DEFAULTS.batchSize,
    )
    .option(
      '--concurrency <n>',
      'requests at a time',
      integerOption(1, CONCURRENCY_MAX),
      LOAD_DEFAULTS.concurrency,
    )
    .option('--errors <file>', 'where rejected documents go (default: TABLE.errors.ndjson)')
    .option('--create', 'create the table if it does not exist')
    .option('--no-wait', 'end before searches find the documents')
    .addHelpText('after', HELP)
    .action((table: string, file: string | undefined, options: LoadCommandOptions) =>
      runLoad(table, file, { options, context }),
    )
}

const HELP = `
FILE holds one JSON object per line (ndjson), one JSON array or pretty-printed
objects (json), or rows below a header (csv, tsv). The format is detected from
its name and its first bytes; .gz and .zst are decompressed. Without FILE, or
with -, standard input is read. A document replaces the one with the same key,
so loading again is safe.

Lines of "${ownCommand('scan --envelope')}" are loaded under the keys that they name,
unless --key or --key-template is given.

A CSV column is text, so that 01234 stays 01234, unless --types says number,
boolean or json. An empty cell leaves its field out; "" is an empty text.

Rejected documents are written to the errors file, also those from standard
input. Repair them, then load that file like any other: it is recognised, its
documents are loaded under the keys they had, and it is removed when all are
loaded. A later load keeps an existing errors file under a name with a number,
like TABLE.1.errors.ndjson.
${examples(
  [
    'a file, with the key in the field "isbn"',
    ownCommand('load books books.ndjson --key isbn --create'),
  ],
  [
    'a table of another program',
    ownCommand('load books books.csv --types price:number,year:number'),
  ],
  ['from another program', `curl -s https://example.org/all.json | ${ownCommand('load books -')}`],
  ['try the rejected ones again', ownCommand('load books books.errors.ndjson')],
  ['the packages of this project', ownCommand('load packages --npm --create')],
)}`

async function runLoad(
  table: string,
  file: string | undefined,
  { options, context }: { readonly options: LoadCommandOptions; readonly context: CliContext },
): Promise<void> {
  const asJson = options.json === true
  const errorsPath = options.errors ?? `${table}.errors.ndjson`
  await refuseOtherThanFile(errorsPath)
  const stop = context.stopSignal()
  const source = await openSource(file, options, { context, stop })
  const client = openClient(options, context)
  if (options.create === true) await createIfAbsent(client, table)
  // An unknown table or an unreachable service fails here at once, because this request has no retry.
  await client.request({ method: 'GET', path: tablePath(table) }).catch(explainAbsence)

  const result = await loadDocuments(
    source,
    {
      client,
      table,
      batchSize: options.batchSize,
      concurrency: options.concurrency,
      isQuiet: asJson,
      errorsPath,
      stop,
    },
    context,
  )
  if (result.stopped?.afterLine === 0) throw result.stopped.cause
  const lacking =
    options.wait && result.loaded > 0 && !stop.aborted
      ? await waitForIndexes({
          client,
          table,
          clock: context.clock,
          output: context.terminal.err,
          isQuiet: asJson,
          stop,
        })
      : []
  const { out } = context.terminal
  await writeLine(out, asJson ? jsonSummary(result) : describeResult(result, table, out))
  if (!asJson) await writeRemarks(remarksOn(result, lacking, source), context)
  throwFailures(result, table, client)
  if (!stop.aborted) return
  const message = `stopped waiting: all documents are in ${table}, and searches find them soon`
  throw new CliError(EXIT.refused, 'CANCELLED', message)
}

/** The command that failed can create the table, so its own option is the way out. */
function explainAbsence(error: unknown): never {
  if (!(error instanceof ServiceRefusal) || error.code !== 'NOT_FOUND') throw error
  const { status, code, body, message } = error
  const [what = message] = message.split(';')
  throw new ServiceRefusal({
    status,
    code,
    body,
    message: `${what}; to create it, run this command again with --create`,
  })
}

function remarksOn(
  { earlierErrorsPath: earlier }: LoadResult,
  lacking: readonly Lacking[],
  { remarks }: DocumentSource,
): readonly string[] {
  const moved =
    earlier === undefined ? [] : [`the rejected documents of an earlier load are now in ${earlier}`]
  return [...describeLacking(lacking), ...moved, ...remarks]
}

async function writeRemarks(remarks: readonly string[], { terminal }: CliContext): Promise<void> {
  for (const remark of remarks) await writeLine(terminal.err, remark)
}

async function openSource(
  file: string | undefined,
  options: LoadCommandOptions,
  { context: { terminal }, stop }: { readonly context: CliContext; readonly stop: AbortSignal },
): Promise<DocumentSource> {
  const rule = {
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.keyTemplate === undefined ? {} : { template: options.keyTemplate }),
  }
  if (options.npm !== undefined) {
    if (file !== undefined) throw usageError('give a FILE or --npm, not both')
    if (Object.keys(rule).length > 0) throw usageError('--npm makes its own keys, name@version')
    return openNpmSource(options.npm === true ? 'node_modules' : options.npm)
  }
  const readOptions = parseReadOptions(parseKeyRule(rule), options)
  if (file !== undefined && file !== '-') return openFileSource(file, readOptions)
  if (file === undefined && terminal.stdinIsTty) {
    throw usageError('nothing to load: give a FILE, pipe documents in, or use --npm')
  }
  const open = (): Readable => {
    // Otherwise the process would live until the program before the pipe ends.
    stop.addEventListener('abort', () => terminal.stdin.destroy(), { once: true })
    return terminal.stdin
  }
  return new FileSource({ open }, readOptions)
}

function parseReadOptions(
  keyRule: KeyRule,
  { format, types, delimiter }: LoadCommandOptions,
): ReadOptions {
  const isCsv = format === undefined || format === 'csv' || format === 'tsv'
  const [given] = [types && '--types', delimiter && '--delimiter'].filter(Boolean)
  if (!isCsv && given !== undefined) throw usageError(`${given} is for CSV, not for ${format}`)
  return {
    keyRule,
    format,
    types: types === undefined ? undefined : parseColumnTypes(types),
    delimiter: delimiter === undefined ? undefined : parseDelimiter(delimiter),
  }
}

/** Creates a table. False: it existed before. */
export async function createIfAbsent(
  client: ApiClient,
  table: string,
  request: object = {},
): Promise<boolean> {
  try {
    const body = JSON.stringify(request)
    await client.request({ method: 'POST', path: tablePath(table), body })
    return true
  } catch (error) {
    if (error instanceof ServiceRefusal && error.code === 'ALREADY_EXISTS') return false
    throw error
  }
}

function jsonSummary(result: LoadResult): string {
  return JSON.stringify({
    loaded: result.loaded,
    rejected: result.rejected,
    bytes: result.bytes,
    took_ms: Math.round(result.tookMs),
    errors_file: result.errorsPath ?? null,
    earlier_errors_file: result.earlierErrorsPath ?? null,
    first_rejection: result.firstRejection ?? null,
    complete: result.stopped === undefined,
    stopped_after_line: result.stopped?.afterLine ?? null,
  })
}

/** The summary of a load as one line. */
export function describeResult(result: LoadResult, table: string, screen: Output): string {
  const rate = formatCount((result.loaded / Math.max(1, result.tookMs)) * 1000)
  const figures = `${formatBytes(result.bytes)} in ${formatDuration(result.tookMs)}, ${rate} docs/s`
  const loaded = paint(screen, 'bold', plural(result.loaded, 'document'))
  return `loaded ${loaded} into ${table} ${paint(screen, 'dim', `(${figures})`)}`
}

/** Throws an error about rejected documents or an early end. The summary is printed before it. */
function throwFailures(result: LoadResult, table: string, client: ApiClient): void {
  const { rejected, stopped } = result
  const report = reportLines(result, table, client)
  if (stopped === undefined) {
    if (rejected === 0) return
    throw new CliError(EXIT.refused, 'REJECTED', report.join('\n'))
  }
  const { cause, afterLine, isInterrupted } = stopped
  if (!(cause instanceof CliError)) throw cause
  const remedy = 'you can load the same input again: documents replace those with the same key'
  const lines = isInterrupted
    ? [
        `stopped after line ${formatCount(afterLine)}: every document until there is ${rejected === 0 ? `in ${table}` : 'loaded or rejected'}`,
        remedy,
      ]
    : [cause.message, `stopped after line ${afterLine}; ${remedy}`]
  const message = [...lines, ...report].join('\n')
  throw new CliError(cause.exitCode, cause.code, message, { cause })
}

function reportLines(
  { rejected, errorsPath, firstRejection: first }: LoadResult,
  table: string,
  client: ApiClient,
): string[] {
  if (errorsPath === undefined || first === undefined) return []
  const key = first.key === undefined ? '' : `, key "${first.key}"`
  const which = rejected === 1 ? 'it is' : 'the first is'
  return [
    `${plural(rejected, 'document')} rejected; ${which} in line ${first.line}${key}: ${first.error}`,
    `the rejected documents and the reasons are in ${errorsPath}`,
    `repair them, then run: ${client.command(`load ${table} ${shellWord(errorsPath)}`)}`,
  ]
}
