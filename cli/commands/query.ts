import type { Command } from 'commander'
import { tablePath } from '../api-client.ts'
import type { CliContext } from '../context.ts'
import { MARKS, queryView } from '../render/query-view.ts'
import { parseExactAnswer } from '../service-answers.ts'
import { writeLine } from '../terminal.ts'
import {
  clientCommand,
  collectOption,
  examples,
  integerOption,
  openClient,
} from './client-command.ts'
import type { ClientOptions } from './client-command.ts'
import { parseFilter, splitList } from './option-values.ts'

const LIMIT_MAX = 10_000
const FACET_SIZE = 10

interface QueryOptions extends ClientOptions {
  readonly filter?: string
  readonly fields?: string
  readonly limit?: number
  readonly orderBy?: string
  readonly facet?: readonly string[]
  readonly highlight?: readonly string[]
  readonly index?: string
  readonly profile?: boolean
}

export function addQueryCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('query <table> [query]'), context)
    .summary('search a table')
    .description('Find documents by what is in them, the best first.')
    .option('--filter <json>', `only documents that fit, like '{"term":"MIT","field":"license"}'`)
    .option('--fields <list>', 'fields to return, comma separated: title,author.name')
    .option('--limit <n>', 'at most so many', integerOption(0, LIMIT_MAX))
    .option('--order-by <list>', 'fields to sort by, comma separated; -price descends')
    .option('--facet <field>', 'count the values of a field (may be repeated)', collectOption)
    .option('--highlight <field>', 'show where the words stand (may be repeated)', collectOption)
    .option('--index <name>', 'search this full_text index instead of the built-in one')
    .option('--profile', 'show how long each phase took')
    .addHelpText(
      'after',
      `
QUERY holds words, field:word, "phrases", +must, -must_not, AND, OR, NOT,
(brackets), ranges like price:[5 TO 9], wild*, and fuzzy~. Without QUERY every
document is found.
${examples(
  ['words, and where they stand', 'quarry query books "sea chart*" --highlight title'],
  ['counts alone', 'quarry query packages --limit 0 --facet license --facet keywords'],
  ['the dearest first', "quarry query books 'title:sea' --order-by -price --fields title,price"],
)}`,
    )
    .action(async (table: string, query: string | undefined, options: QueryOptions) => {
      const { out } = context.terminal
      const body = JSON.stringify(buildQueryRequest(query, options))
      const path = `${tablePath(table)}/query`
      const answer = await openClient(options).request({ method: 'POST', path, body })
      if (options.json === true) return writeLine(out, answer.text.trim())
      return writeLine(out, queryView(parseExactAnswer(answer.text), out))
    })
}

export function buildQueryRequest(
  query: string | undefined,
  options: Omit<QueryOptions, 'url' | 'json'>,
): object {
  const { filter, fields, limit, orderBy, facet, highlight, index, profile } = options
  const facets = facet?.map((field) => [field, { type: 'terms', field, size: FACET_SIZE }] as const)
  return {
    ...(query === undefined ? {} : { full_text_search: { query } }),
    ...(filter === undefined ? {} : { filter_query: parseFilter(filter) }),
    ...(fields === undefined ? {} : { fields: splitList(fields) }),
    ...(limit === undefined ? {} : { limit }),
    ...(orderBy === undefined ? {} : { order_by: splitList(orderBy).map(sortKeyOf) }),
    ...(facets === undefined ? {} : { aggregations: Object.fromEntries(facets) }),
    ...(highlight === undefined ? {} : { highlight: { fields: highlight, ...MARKS } }),
    ...(index === undefined ? {} : { indexes: [index] }),
    ...(profile === true ? { profile } : {}),
  }
}

function sortKeyOf(text: string): { readonly field: string; readonly desc?: true } {
  return text.startsWith('-') ? { field: text.slice(1), desc: true } : { field: text }
}
