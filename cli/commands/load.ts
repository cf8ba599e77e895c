import type { Command } from 'commander'
import { ServiceRefusal, tablePath } from '../api-client.ts'
import type { ApiClient } from '../api-client.ts'
import type { CliContext } from '../context.ts'
import { CliError, EXIT, usageError } from '../exit.ts'
import { parseKeyRule } from '../load/key-rule.ts'
import { loadDocuments } from '../load/load-documents.ts'
import type { LoadResult } from '../load/load-documents.ts'
import { NdjsonSource, openNdjsonFile } from '../load/ndjson-source.ts'
import { openNpmSource } from '../load/npm-source.ts'
import type { DocumentSource } from '../load/document-source.ts'
import { formatBytes, formatCount, formatDuration, plural } from '../render/quantity.ts'
import { paint, writeLine } from '../terminal.ts'
import type { Output } from '../terminal.ts'
import { clientCommand, examples, integerOption, openClient } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

const BATCH_SIZE_MAX = 10_000
const CONCURRENCY_MAX = 64

export const LOAD_DEFAULTS = { batchSize: 500, concurrency: 4 } as const

interface LoadCommandOptions extends ClientOptions {
  readonly npm?: string | true
  readonly key?: string
  readonly keyTemplate?: string
  readonly batchSize: number
  readonly concurrency: number
  readonly errors?: string
  readonly create?: boolean
}

export function addLoadCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('load <table> [file]'), context)
    .summary('load documents')
    .description('Load documents: lines of JSON, or the packages of a node_modules directory.')
    .option('--npm [dir]', 'load installed packages (default directory: node_modules)')
    .option('--key <field>', 'field with the key (default: id); a.b reaches inside')
    .option('--key-template <template>', "key made of fields, like '{country}/{city}'")
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
    .option('--create', 'create the table if it is not there')
    .addHelpText('after', HELP)
    .action((table: string, file: string | undefined, options: LoadCommandOptions) =>
      runLoad(table, file, { options, context }),
    )
}

const HELP = `
FILE holds one JSON object per line; .gz and .zst are decompressed. Without
FILE, or with -, standard input is read. A document of a key that exists
replaces it, so loading again is safe.

Rejected documents are written to the errors file, those of standard input as
well. Repair what was wrong, then load that file like any other: quarry
recognises it, takes the documents in it under the keys they had, and removes
it when all are loaded. One that another load finds there is kept under a name
with a number, like TABLE.1.errors.ndjson.
${examples(
  [
    'a file, with the key in the field "isbn"',
    'quarry load books books.ndjson --key isbn --create',
  ],
  ['from another program', 'curl -s https://example.org/all.ndjson | quarry load books -'],
  ['try the rejected ones again', 'quarry load books books.errors.ndjson'],
  ['the packages of this project', 'quarry load packages --npm --create'],
)}`

async function runLoad(
  table: string,
  file: string | undefined,
  { options, context }: { readonly options: LoadCommandOptions; readonly context: CliContext },
): Promise<void> {
  const source = await openSource(file, options, context)
  const client = openClient(options)
  if (options.create === true) await createIfAbsent(client, table)
  // Fails at once on an unknown table or a service that is not there, before anything is retried.
  await client.request({ method: 'GET', path: tablePath(table) })

  const result = await loadDocuments(
    source,
    {
      client,
      table,
      batchSize: options.batchSize,
      concurrency: options.concurrency,
      errorsPath: options.errors ?? `${table}.errors.ndjson`,
    },
    context,
  )
  const { out, err } = context.terminal
  const asJson = options.json === true
  await writeLine(out, asJson ? jsonSummary(result) : describeResult(result, table, out))
  const { earlierErrorsPath: earlier } = result
  if (earlier !== undefined && !asJson) {
    await writeLine(err, `documents that an earlier load rejected are in ${earlier} now`)
  }
  throwFailures(result, table)
}

async function openSource(
  file: string | undefined,
  options: LoadCommandOptions,
  { terminal }: CliContext,
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
  const keyRule = parseKeyRule(rule)
  if (file !== undefined && file !== '-') return openNdjsonFile(file, keyRule)
  if (file === undefined && terminal.stdinIsTty) {
    throw usageError('nothing to load: name a FILE, pipe lines of JSON in, or use --npm')
  }
  return new NdjsonSource({ open: () => terminal.stdin }, keyRule)
}

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
    complete: result.stopped === undefined,
  })
}

export function describeResult(result: LoadResult, table: string, screen: Output): string {
  const rate = formatCount((result.loaded / Math.max(1, result.tookMs)) * 1000)
  const figures = `${formatBytes(result.bytes)} in ${formatDuration(result.tookMs)}, ${rate} docs/s`
  const loaded = paint(screen, 'bold', plural(result.loaded, 'document'))
  return `loaded ${loaded} into ${table} ${paint(screen, 'dim', `(${figures})`)}`
}

/** What did not go well, after the summary of what did. */
function throwFailures({ rejected, errorsPath, stopped }: LoadResult, table: string): void {
  const report =
    errorsPath === undefined
      ? []
      : [
          `${plural(rejected, 'document')} rejected, written with the reasons to ${errorsPath}`,
          `once repaired, load them again: quarry load ${table} ${errorsPath}`,
        ]
  if (stopped === undefined) {
    if (rejected === 0) return
    throw new CliError(EXIT.refused, 'REJECTED', report.join('\n'))
  }
  const { cause, afterLine } = stopped
  if (!(cause instanceof CliError)) throw cause
  const remedy = 'loading the same again is safe: a document replaces the one of its key'
  const message = [cause.message, `stopped after line ${afterLine}; ${remedy}`, ...report].join(
    '\n',
  )
  throw new CliError(cause.exitCode, cause.code, message, { cause })
}
