import type { Command } from 'commander'
import { ownCommand, shellWord } from '../../lib/own-command.ts'
import { tablePath } from '../service/api-client.ts'
import type { ApiClient } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { usageError } from '../process/exit.ts'
import { describeIndex, describeIndexes } from '../render/index-view.ts'
import { printable } from '../../lib/process/log-words.ts'
import { elementsOf, parseAnswer, parseTable } from '../service/service-answers.ts'
import { writeLine } from '../process/terminal.ts'
import { clientCommand, examples, integerOption, openClient } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'
import { parseJsonOption } from './option-values.ts'

const PARKED_DEFAULT = 10
const PARKED_MAX = 100
const FIELDS_NAMED_MAX = 20

export function addIndexCommand(program: Command, context: CliContext): void {
  const index = program
    .command('index')
    .description('Create, list, inspect and drop the indexes of a table.')
    .summary('create, list, inspect and drop indexes')
  addCreate(index, context)
  addList(index, context)
  addGet(index, context)
  addDrop(index, context)
}

function indexPath(table: string, index: string): string {
  return `${tablePath(table)}/indexes/${encodeURIComponent(index)}`
}

interface CreateOptions extends ClientOptions {
  readonly field?: string
  readonly template?: string
  readonly model?: string
  readonly config?: string
}

function addCreate(index: Command, context: CliContext): void {
  clientCommand(index.command('create <table> <index>'), context)
    .description('Create an index. By default it is one of what documents mean.')
    .summary('create an index')
    .option('--field <path>', 'embed this field: title, author.name')
    .option('--template <text>', `embed what this makes: '{{title}} {{author.name}}'`)
    .option('--model <name>', 'of the inference server (default: the one that ships with it)')
    .option('--config <json>', `all settings, like '{"type":"full_text"}'`)
    .addHelpText(
      'after',
      `
Without --field and --template, whole documents are embedded. Distances are by
cosine. --config has all else: providers, chunks, vectors of your own.
${examples(
  ['what titles mean', ownCommand('index create books meaning --field title')],
  [
    `by a larger model, after "${ownCommand('models pull')}"`,
    ownCommand('index create books deep --field title --model Xenova/all-MiniLM-L6-v2'),
  ],
  [
    'vectors of your own',
    ownCommand(String.raw`index create books own --config \
    '{"type":"embeddings","external":true,"dimension":384}'`),
  ],
)}`,
    )
    .action(async (table: string, name: string, options: CreateOptions) => {
      const config = configOf(options)
      await openClient(options, context).request({
        method: 'POST',
        path: indexPath(table, name),
        body: JSON.stringify(config),
      })
      const { out } = context.terminal
      if (options.json === true) return writeLine(out, JSON.stringify({ created: name }))
      const next = `see how far it is with: ${openClient(options, context).command(`index get ${table} ${shellWord(name)}`)}`
      await writeLine(out, `created index ${name} of table ${table}; ${next}`)
      const warning = await missingField(openClient(options, context), table, options.field)
      if (warning !== undefined) await writeLine(context.terminal.err, warning)
      return undefined
    })
}

/** A sentence if the service knows all fields of the table and this is not among them. The index exists in any case. */
async function missingField(
  client: ApiClient,
  table: string,
  field: string | undefined,
): Promise<string | undefined> {
  if (field === undefined) return undefined
  // The index exists by now, so the command succeeds even if the service does not show the table.
  const shown = await client
    .request({ method: 'GET', path: tablePath(table) })
    .then(({ text }) => parseTable(text))
    .catch(() => undefined)
  if (shown === undefined) return undefined
  const { named, more } = shown.fields
  const isKnown = named.some(({ name }) => name === field || name.startsWith(`${field}.`))
  if (isKnown || more > 0 || named.length === 0) return undefined
  const names = named.slice(0, FIELDS_NAMED_MAX).map(({ name }) => printable(name))
  return `warning: no document of ${table} has a field "${printable(field)}" yet; it has: ${names.join(', ')}`
}

function configOf({ field, template, model, config }: CreateOptions): unknown {
  if (config === undefined) {
    const embedder = model === undefined ? undefined : { provider: 'quarry', model }
    return { type: 'embeddings', field, template, embedder, distance_metric: 'cosine' }
  }
  if ((field ?? template ?? model) !== undefined) {
    throw usageError('--config has all settings: write the other options into it')
  }
  const value = parseJsonOption(config)
  if (value !== undefined) return value
  throw usageError(`--config: not JSON; write it like '{"type":"full_text"}'`)
}

function addList(index: Command, context: CliContext): void {
  clientCommand(index.command('list <table>'), context)
    .description('List the indexes of a table.')
    .summary('list the indexes of a table')
    .action(async (table: string, options: ClientOptions) => {
      const path = `${tablePath(table)}/indexes`
      const { text } = await openClient(options, context).request({ method: 'GET', path })
      const { out } = context.terminal
      if (options.json !== true) return writeLine(out, describeIndexes(parseAnswer(text), out))
      for (const line of elementsOf(text)) await writeLine(out, line)
      return undefined
    })
}

function addGet(index: Command, context: CliContext): void {
  clientCommand(index.command('get <table> <index>'), context)
    .description('Show an index: how far it is, and which documents have no vector.')
    .summary('show how far an index is')
    .option(
      '--parked <n>',
      'list at most this number of parked documents',
      integerOption(0, PARKED_MAX),
    )
    .action(
      async (
        table: string,
        name: string,
        options: ClientOptions & { readonly parked?: number },
      ) => {
        const parked = options.parked ?? PARKED_DEFAULT
        const path = `${indexPath(table, name)}?parked=${parked}`
        const { text } = await openClient(options, context).request({ method: 'GET', path })
        const { out } = context.terminal
        if (options.json === true) return writeLine(out, text)
        return writeLine(out, describeIndex(parseAnswer(text), out))
      },
    )
}

function addDrop(index: Command, context: CliContext): void {
  clientCommand(index.command('drop <table> <index>'), context)
    .description('Remove an index. The documents stay.')
    .summary('remove an index')
    .action(async (table: string, name: string, options: ClientOptions) => {
      await openClient(options, context).request({ method: 'DELETE', path: indexPath(table, name) })
      const { out } = context.terminal
      const done = `dropped index ${name} of table ${table}`
      return writeLine(out, options.json === true ? JSON.stringify({ dropped: name }) : done)
    })
}
