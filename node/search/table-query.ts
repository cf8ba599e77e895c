// Answers a query over all shards of a table.
//
//   plan ──► search ──► fetch
//            words-query.ts, or          the documents of the page, with
//            merged-query.ts             projection and highlights
//
// A document deleted or expired between search and fetch is left out of the hits.

import { unlessAborted } from '../../lib/unless-aborted.ts'
import type { Query } from '../query/query-tree.ts'
import type { FoundHits } from './hits/found-hits.ts'
import { MergedQuery } from './hits/merged-query.ts'
import { chooseVectors } from './plan/chosen-vectors.ts'
import { withMatchedTexts } from './page/matched-texts.ts'
import { analysePage } from './page/page-analyses.ts'
import { fetchPage } from './page/page-fetch.ts'
import { buildMarkDocuments } from './page/page-highlights.ts'
import type { QueriedShard, QueriedTable, QueryParts } from './tables/queried-table.ts'
import { QueryDeadline } from './run/query-deadline.ts'
import { anyWord, planLists } from './plan/plan-lists.ts'
import type { QueryLists } from './plan/query-lists.ts'
import type { QueryHit, QueryProfile, QueryResult, QuerySuggestion } from './run/query-result.ts'
import { conditionsOf, QueryRun, type AskedQuery } from './run/query-run.ts'
import type { ShardFanOut } from './run/shard-fan-out.ts'
import { splitProjection } from '../reads/special/special-selection.ts'
import { mayHaveUnknownWord, suggestFor } from './suggestions/suggestions.ts'
import { findWords } from './hits/words-query.ts'

/**
 * Refused: INVALID_ARGUMENT, NOT_FOUND (an index), DEADLINE_EXCEEDED, CANCELLED, OVERLOADED, the error of a
 * model, or the error of a shard if all fail.
 */
export async function queryTable(
  parts: QueryParts,
  table: QueriedTable,
  asked: AskedQuery,
): Promise<QueryResult> {
  const { request, signal } = asked
  using deadline = new QueryDeadline(parts.clock, request.timeoutMs, signal)
  try {
    const choosing = chooseVectors(table, request)
    const chosen = choosing && (await unlessAborted(choosing, deadline.signal))
    const plan = planLists(table, request, chosen?.name)
    const run = new QueryRun(parts, table, asked, deadline)
    return await new TableQuery(run, plan, chosen?.warning).run()
  } catch (error) {
    throw deadline.explain(error)
  }
}

class TableQuery {
  readonly #run: QueryRun
  readonly #plan: QueryLists
  readonly #choice: readonly string[]
  readonly #fanOut: ShardFanOut<QueriedShard>

  constructor(run: QueryRun, plan: QueryLists, choice: string | undefined) {
    this.#run = run
    this.#plan = plan
    this.#choice = choice === undefined ? [] : [choice]
    this.#fanOut = run.countedFanOut()
  }

  async run(): Promise<QueryResult> {
    const { clock, request } = this.#run
    const startMs = clock.monotonicMs()
    const found = await this.#find()
    const hits = await this.#run.timed('fetch', () => this.#fetch(found))
    const suggestions = await this.#suggestionsFor(found)
    const { analyses } = request
    const drawn =
      analyses === undefined
        ? undefined
        : await this.#run.timed('analyse', () => analysePage(this.#run, analyses, hits))
    const { failures } = this.#run
    const { total, maxScore, aggregations } = found
    const { behind } = this.#run
    const warnings = [...this.#choice, ...found.warnings, ...behind.warnings]
    return {
      status: 200,
      took: Math.round(clock.monotonicMs() - startMs),
      table: this.#run.table.name,
      hits: { total, max_score: maxScore, hits },
      ...(aggregations === undefined ? {} : { aggregations }),
      ...(drawn === undefined ? {} : { analyses: drawn }),
      ...(request.profile ? { profile: this.#profile(found) } : {}),
      ...(suggestions === undefined ? {} : { suggestions }),
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(behind.documents === undefined ? {} : { documents_behind: behind.documents }),
      ...(failures.length === 0 ? {} : { error: this.#failureText() }),
    }
  }

  #find(): Promise<FoundHits> {
    const plan = this.#plan
    if (plan.kind === 'words') return findWords(this.#run, plan.list, this.#fanOut)
    return new MergedQuery(this.#run, plan.lists, plan.textIndex).find()
  }

  /** What was looked for in the full-text index. */
  get #words(): Query | undefined {
    return this.#plan.kind === 'words' ? this.#plan.list.query : this.#plan.lists.texts[0]?.query
  }

  /** The full-text index that highlights and suggestions ask. */
  get #textIndex(): string | undefined {
    return this.#plan.kind === 'words' ? this.#plan.list.index : this.#plan.textIndex
  }

  async #fetch({ page, scoring }: FoundHits): Promise<readonly QueryHit[]> {
    const { table, clock, request, memory } = this.#run
    const read = (key: Buffer) => {
      const shard = table.shardOf(key)
      return this.#fanOut.attempt(shard, () => shard.read(key))
    }
    const sought = { index: this.#textIndex, query: this.#words }
    const mark = buildMarkDocuments(this.#run, sought, this.#fanOut)
    const split = request.projection && splitProjection(request.projection)
    const special = split?.special && table.specialOf?.(split.special, this.#run.signal)
    const part = special && {
      hasBody: split.body !== undefined,
      read: (keys: readonly Buffer[]) => special.read(keys),
    }
    const shortened = { ...request, projection: split?.body }
    const fetching = { clock, request: shortened, special: part, mark, read, memory, scoring }
    return withMatchedTexts(this.#run, await fetchPage(fetching, page))
  }

  async #suggestionsFor(found: FoundHits): Promise<readonly QuerySuggestion[] | undefined> {
    const { suggest } = this.#run.request
    const isAuto = suggest === 'auto'
    if (suggest === false || (isAuto && !mayHaveUnknownWord(this.#words, found.statistics))) {
      return undefined
    }
    const suggestions = await this.#run.timed('suggest', () => this.#suggestions(isAuto))
    return isAuto && suggestions.length === 0 ? undefined : suggestions
  }

  async #suggestions(isOnlyUnknown: boolean): Promise<readonly QuerySuggestion[]> {
    const { request } = this.#run
    const index = this.#textIndex
    const sought = request.vectors?.sought
    // Words of a question may be mistyped, too, whether they are looked for or embedded.
    const meant = sought?.kind === 'text' ? anyWord(sought.text) : undefined
    if (index === undefined) return []
    const conditions = conditionsOf(request, this.#words ?? meant)
    const rules = { queryString: request.queryString, isOnlyUnknown }
    return suggestFor(this.#run, { index, conditions, ...rules }, this.#fanOut)
  }

  #profile({ profile }: FoundHits): QueryProfile {
    const total = this.#fanOut.total
    const failed = this.#run.failures.length
    const shards = { total, successful: total - failed, failed }
    return { shards, phases: this.#run.phases, ...profile }
  }

  #failureText(): string {
    const { failures } = this.#run
    const [first] = failures
    return `${failures.length} of ${this.#fanOut.total} shards did not answer, so hits may be missing: ${first?.message ?? ''}`
  }
}
