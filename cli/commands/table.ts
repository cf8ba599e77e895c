import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { isJsonRecord } from '../../lib/json-record.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { tablePath } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { CliError, usageError } from '../process/exit.ts'
import { plural } from '../render/quantity.ts'
import { describeTable, describeTables } from '../render/table-view.ts'
import { printable } from '../../lib/process/log-words.ts'
import { elementsOf, parseTable, parseTables } from '../service/service-answers.ts'
import { writeLine } from '../process/terminal.ts'
import {
  clientCommand,
  collectOption,
  examples,
  integerOption,
  openClient,
} from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

const SHARDS_MAX = 512
const REPLICAS_MAX = 7

export function addTableCommand(program: Command, context: CliContext): void {
  const table = program
    .command('table')
    .description('Create, list, inspect and drop tables.')
    .summary('create, list, inspect and drop tables')
  addCreate(table, context)
  addList(table, context)
  addGet(table, context)
  addDrop(table, context)
}

interface CreateOptions extends ClientOptions {
  readonly shards?: number
  readonly splitKey?: readonly string[]
  readonly schema?: string
  readonly language?: string
  readonly description?: string
  readonly replicas?: number
  readonly minInSync?: number
}

function addCreate(table: Command, context: CliContext): void {
  clientCommand(table.command('create <name>'), context)
    .description('Create a table.')
    .summary('create a table')
    .option('--shards <n>', 'number of shards', integerOption(1, SHARDS_MAX))
    .option(
      '--split-key <key>',
      'first key of another shard; may be repeated, in ascending order',
      collectOption,
    )
    .option('--schema <file>', 'table schema, as a JSON file')
    .option('--language <name>', 'of the text, such as english: words find their other forms')
    .option('--description <text>', 'what the table is for')
    .option('--replicas <n>', 'of each shard, in a cluster', integerOption(1, REPLICAS_MAX))
    .option(
      '--min-in-sync <n>',
      'with fewer replicas in sync, a shard takes no writes',
      integerOption(1, REPLICAS_MAX),
    )
    .addHelpText(
      'after',
      examples(
        ['one shard, any JSON object', ownCommand('table create books')],
        [
          'three shards, split at two keys',
          ownCommand('table create books --split-key h --split-key q'),
        ],
        [
          'documents must fit a schema',
          ownCommand('table create books --schema books.schema.json'),
        ],
        ['"chart" also finds "charts"', ownCommand('table create books --language english')],
      ),
    )
    .action(async (name: string, options: CreateOptions) => {
      const body = {
        num_shards: options.shards,
        split_keys: options.splitKey,
        description: options.description,
        replication_factor: options.replicas,
        min_in_sync: options.minInSync,
        schema: await schemaOf(options),
      }
      const answer = await openClient(options, context).request({
        method: 'POST',
        path: tablePath(name),
        body: JSON.stringify(body),
      })
      const { out } = context.terminal
      if (options.json === true) return writeLine(out, answer.text)
      const created = parseTable(answer.text)
      return writeLine(out, `created table ${name} with ${plural(created.shards.length, 'shard')}`)
    })
}

/** The option goes before what the file says. */
async function schemaOf({ schema, language }: CreateOptions): Promise<unknown> {
  const read = schema === undefined ? undefined : await readJsonFile(schema)
  if (language === undefined) return read
  return read === undefined || isJsonRecord(read) ? { ...read, language } : read
}

async function readJsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    const why = cause instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read'
    throw new CliError(EXIT.usage, 'FILE', `--schema ${path}: ${why}`, { cause })
  }
}

function addList(table: Command, context: CliContext): void {
  clientCommand(table.command('list'), context)
    .description('List the tables.')
    .summary('list the tables')
    .option('--prefix <text>', 'only tables with this prefix')
    .action(async (options: ClientOptions & { readonly prefix?: string }) => {
      const query =
        options.prefix === undefined ? '' : `?prefix=${encodeURIComponent(options.prefix)}`
      const answer = await openClient(options, context).request({
        method: 'GET',
        path: `/tables${query}`,
      })
      const { out } = context.terminal
      if (options.json !== true) {
        return writeLine(out, describeTables(parseTables(answer.text), out))
      }
      for (const line of elementsOf(answer.text)) await writeLine(out, line)
      return undefined
    })
}

function addGet(table: Command, context: CliContext): void {
  clientCommand(table.command('get <name>'), context)
    .description('Show a table: its documents, size, indexes, fields and shards.')
    .summary('show what a table holds')
    .action(async (name: string, options: ClientOptions) => {
      const answer = await openClient(options, context).request({
        method: 'GET',
        path: tablePath(name),
      })
      const { out } = context.terminal
      if (options.json === true) return writeLine(out, answer.text)
      return writeLine(out, describeTable(parseTable(answer.text), out))
    })
}

function addDrop(table: Command, context: CliContext): void {
  clientCommand(table.command('drop <name>'), context)
    .description('Remove a table with all its documents.')
    .summary('remove a table with all its documents')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples(['in a script', ownCommand('table drop books --yes')]))
    .action(async (name: string, options: ClientOptions & { readonly yes?: boolean }) => {
      if (options.yes !== true) await confirmDrop(name, context)
      await openClient(options, context).request({ method: 'DELETE', path: tablePath(name) })
      const { out } = context.terminal
      await writeLine(
        out,
        options.json === true ? JSON.stringify({ dropped: name }) : `dropped table ${name}`,
      )
    })
}

async function confirmDrop(name: string, { terminal }: CliContext): Promise<void> {
  if (!terminal.stdinIsTty || !terminal.err.isTty) {
    throw usageError(`dropping ${name} cannot be undone: add --yes to confirm`)
  }
  const prompt = createInterface({ input: terminal.stdin, output: terminal.err.stream })
  try {
    const question = `Drop table ${printable(name)} with all its documents? Type its name to confirm: `
    if ((await prompt.question(question)) === name) return
  } finally {
    prompt.close()
  }
  throw new CliError(EXIT.refused, 'CANCELLED', 'nothing was dropped')
}
