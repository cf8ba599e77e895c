import type { Command } from 'commander'
import { ownCommand, shellWord } from '../../lib/own-command.ts'
import { tablePath } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { usageError } from '../process/exit.ts'
import { hasFoundNothing, MARKS, nextCursor, queryView } from '../render/query-view.ts'
import { parseExactAnswer } from '../service/service-answers.ts'
import { paint, writeLine } from '../process/terminal.ts'
import {
  clientCommand,
  collectOption,
  examples,
  integerOption,
  openClient,
  STALE_OPTION,
  withConsistency,
} from './client-command.ts'
import type { ClientOptions } from './client-command.ts'
import { parseFilter, parseJsonOption, splitList } from './option-values.ts'
import { mergingOf, type MergingOptions } from './query-merging.ts'

const LIMIT_MAX = 10_000
/** The service's own default. */
const LIMIT_DEFAULT = 10
const FACET_SIZE = 10
const AUTOCUT_MAX = 10

interface QueryOptions extends ClientOptions, MergingOptions {
  readonly filter?: string
  readonly fields?: string
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
  readonly orderBy?: string
  readonly facet?: readonly string[]
  readonly highlight?: readonly string[]
  readonly profile?: boolean
  readonly simple?: boolean
  readonly stale?: boolean
}

export function addQueryCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('query <table> [query]'), context)
    .summary('search a table')
    .description('Find documents by their contents, the best first.')
    .option('--filter <json>', `only documents that match, like '{"term":"MIT","field":"license"}'`)
    .option('--fields <list>', 'fields to return, comma separated: title,author.name')
    .option('--limit <n>', 'at most this many hits (default: 10)', integerOption(0, LIMIT_MAX))
    .option('--offset <n>', 'skip this many hits', integerOption(0, LIMIT_MAX))
    .option('--cursor <cursor>', 'continue after the page that printed this cursor')
    .option('--order-by <list>', 'fields to sort by, comma separated; -price descends')
    .option('--facet <field>', 'count the values of a field (may be repeated)', collectOption)
    .option(
      '--highlight <field>',
      'show the found words of a field (may be repeated)',
      collectOption,
    )
    .option('--meaning <text>', 'find documents that mean this, by the embeddings index of --index')
    .option('--like <key>', 'find documents like this one, by the embeddings index of --index')
    .option('--index <list>', 'search these indexes instead of the built-in one, comma separated')
    .option(
      '--window <n>',
      'how many hits of each index are merged; pages end there (default: --limit)',
      integerOption(1, LIMIT_MAX),
    )
    .option(
      '--distance-under <index=n>',
      'of merged hits, only those of the index at this distance or nearer (may be repeated)',
      collectOption,
    )
    .option(
      '--min-score <index=n>',
      'of merged hits, only those with this score in the index, or in full_text (may be repeated)',
      collectOption,
    )
    .option(
      '--autocut <n>',
      'end before the n-th jump of distances or scores, where noise begins',
      integerOption(1, AUTOCUT_MAX),
    )
    .option('--simple', 'QUERY is what a person types: typos, URLs, a word that is only begun')
    .option('--profile', 'show how long each phase took')
    .option(...STALE_OPTION)
    .addHelpText('after', HELP)
    .action((table: string, query: string | undefined, options: QueryOptions) =>
      runQuery(table, query, { options, context }),
    )
}

const HELP = `
QUERY holds words, field:word, "phrases", +must, -must_not, AND, OR, NOT,
(brackets), ranges like price:[5 TO 9], wild*, and fuzzy~. Without QUERY, every
document is a hit. With QUERY and --meaning or --like, both lists are merged.

Each document is cut to one line, in a pipe too. --fields says what is returned
of it, which a pipe shows whole; --json prints the answer of the service.
${examples(
  ['words, with highlights', ownCommand('query books "sea chart*" --highlight title')],
  ['only counts', ownCommand('query packages --limit 0 --facet license --facet keywords')],
  ['by meaning', ownCommand('query packages --meaning "colours in a console" --index meaning')],
  ['what is near, no noise', ownCommand('query packages --like express@5.3.0 --autocut 1')],
  ['pages of what is near', ownCommand('query packages --like express@5.3.0 --window 100')],
  [
    'by price, descending',
    ownCommand("query books 'title:sea' --order-by -price --fields title,price"),
  ],
)}`

async function runQuery(
  table: string,
  query: string | undefined,
  asked: { readonly options: QueryOptions; readonly context: CliContext },
): Promise<void> {
  const { options, context } = asked
  const { out } = context.terminal
  const answer = await askQuery(table, query, asked)
  if (options.json === true) return writeLine(out, answer.text.trim())
  const result = parseExactAnswer(answer.text)
  await writeLine(out, queryView(result, out, { isProjected: options.fields !== undefined }))
  const cursor = nextCursor(result, pageOf(options))
  if (cursor === undefined) return undefined
  return writeLine(out, paint(out, 'dim', `next page: add --cursor ${shellWord(cursor)}`))
}

/**
 * A text that finds nothing is asked again, for what it may have meant. A service that cannot tell
 * has still answered the query.
 */
async function askQuery(
  table: string,
  query: string | undefined,
  { options, context }: { readonly options: QueryOptions; readonly context: CliContext },
) {
  const path = withConsistency(`${tablePath(table)}/query`, options)
  const client = openClient(options, context)
  const ask = (request: object) =>
    client.request({ method: 'POST', path, body: JSON.stringify(request) })
  const request = buildQueryRequest(query, options)
  const answer = await ask(request)
  if (query === undefined || !hasFoundNothing(parseExactAnswer(answer.text))) return answer
  return ask({ ...request, suggest: true }).catch(() => answer)
}

/** Absent options are undefined, which JSON leaves out. */
function buildQueryRequest(query: string | undefined, options: QueryOptions): object {
  const { filter, fields, limit, offset, cursor, orderBy, facet, highlight, index } = options
  const { meaning, like } = options
  const search = options.simple === true ? { simple: { query } } : { query }
  return {
    full_text_search: query === undefined ? undefined : search,
    semantic_search: meaning,
    similar_to: like === undefined ? undefined : { key: like },
    ...mergingOf(options),
    filter_query: filter === undefined ? undefined : parseFilter(filter),
    fields: fields === undefined ? undefined : splitList(fields),
    limit,
    offset,
    search_after: cursor === undefined ? undefined : parseCursor(cursor),
    order_by: orderBy === undefined ? undefined : splitList(orderBy).map(sortKeyOf),
    aggregations: facet === undefined ? undefined : facetsOf(facet),
    highlight: highlight === undefined ? undefined : { fields: highlight, ...MARKS },
    indexes: index === undefined ? undefined : splitList(index),
    profile: options.profile,
    suggest: options.simple === true ? 'auto' : undefined,
  }
}

function facetsOf(fields: readonly string[]): object {
  const facets = fields.map((field) => [field, { type: 'terms', field, size: FACET_SIZE }] as const)
  return Object.fromEntries(facets)
}

function pageOf({ offset, limit = LIMIT_DEFAULT, cursor }: QueryOptions) {
  return { offset, limit, isFirst: cursor === undefined }
}

/** A cursor is the `_sort` of a hit as JSON, so programs can take it from an answer. */
function parseCursor(text: string): readonly string[] {
  const values = parseJsonOption(text)
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return values
  throw usageError(`--cursor: give the cursor that the page before printed, like '["0.5","a"]'`)
}

function sortKeyOf(text: string): { readonly field: string; readonly desc?: true } {
  return text.startsWith('-') ? { field: text.slice(1), desc: true } : { field: text }
}
