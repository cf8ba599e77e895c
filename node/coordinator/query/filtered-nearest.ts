// Filters the nearest documents of one shard.
//
//   table with a full_text index:     select ──► ordinals ──► nearest among them, all in the shard's indexes
//   table without one:                nearest ──► read and test documents ──► more of them, until enough pass
//
// The second way is exact, too, as far as NEAREST_LIMIT_MAX documents of a shard reach.

import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn, type Sliced } from '../../../lib/sliced.ts'
import { isJsonObject } from '../../document/json-object.ts'
import { documentAtPaths } from '../../document/project-text.ts'
import {
  NEAREST_LIMIT_MAX,
  type NearestAnswer,
  type NearestHit,
  type NearestRequest,
  type SparseRequest,
} from '../../index/vector/vector-search.ts'
import type { TextSelection } from '../../index/text/search/run-text-select.ts'
import { buildDocumentFilter } from '../../query/filter/filter-of-query.ts'
import { matchesFilter, type DocumentFilter } from '../../query/filter/document-filter.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import { jsonOf } from '../../shard/format/document-record.ts'
import { pathsOfFilter } from '../../query/filter/filter-paths.ts'
import type { QueriedShard } from './queried-table.ts'
import { conditionsOf, type QueryRun } from './query-run.ts'

/** Documents that are read at once: those of another node take a round trip each. */
const READ_AT_ONCE = 16
/** How many more are asked for when too few passed. */
const GROWTH = 4
/** Larger documents get a step of their own for the filter. */
const SLICED_BYTES_MIN = 64 * 1024
const INCOMPLETE =
  `the filter was tested on the ${NEAREST_LIMIT_MAX} nearest documents of a shard, and few of them passed: farther ` +
  'ones may be missing. A full_text index of the table makes filters complete'

const UNNUMBERED =
  'documents of an earlier version of the store get their numbers, which a filter of vectors needs; try again'

type AnyRequest = NearestRequest | SparseRequest
type AskNearest = (request: AnyRequest) => Promise<NearestAnswer>

/** Asks an index of vectors of one shard, within the conditions of the request. */
export interface NearestFilter {
  nearest(shard: QueriedShard, request: AnyRequest, ask: AskNearest): Promise<readonly NearestHit[]>
  /** For the client: what the conditions cannot find. */
  readonly warnings: readonly string[]
}

/** `textIndex` is undefined for a table without one. */
export function buildNearestFilter(run: QueryRun, textIndex: string | undefined): NearestFilter {
  const { filter, exclusion, keyPrefix } = run.request
  if (filter === undefined && exclusion === undefined && keyPrefix === undefined) return UNFILTERED
  return textIndex === undefined
    ? new DocumentFiltering(run, buildTest(run.request))
    : new Selections(run, textIndex)
}

const UNFILTERED: NearestFilter = {
  nearest: async (_, request, ask) => (await ask(request)).hits,
  warnings: [],
}

/** One selection for each shard serves all indexes of vectors. */
class Selections implements NearestFilter {
  readonly #run: QueryRun
  readonly #textIndex: string
  readonly #byShard = new Map<QueriedShard, Promise<TextSelection>>()
  #warnings: readonly string[] | undefined

  constructor(run: QueryRun, textIndex: string) {
    this.#run = run
    this.#textIndex = textIndex
  }

  /** A single shard may lack a field that documents of other shards have. */
  get warnings(): readonly string[] {
    return this.#warnings ?? []
  }

  async nearest(
    shard: QueriedShard,
    request: AnyRequest,
    ask: AskNearest,
  ): Promise<readonly NearestHit[]> {
    const { count, unnumbered, set, warnings } = await this.#selectionOf(shard)
    if (unnumbered > 0) throw new ServiceError('UNAVAILABLE', UNNUMBERED)
    this.#warnings = this.#warnings?.filter((one) => warnings.includes(one)) ?? warnings
    return count === 0 ? [] : (await ask({ ...request, filter: set })).hits
  }

  #selectionOf(shard: QueriedShard): Promise<TextSelection> {
    const known = this.#byShard.get(shard)
    if (known !== undefined) return known
    const conditions = conditionsOf(this.#run.request, undefined)
    const request = { conditions, nowMs: this.#run.nowMs }
    const asked = { kind: 'text', question: 'select', request } as const
    const selection = this.#run.timed('select', () => this.#run.ask(shard, this.#textIndex, asked))
    this.#byShard.set(shard, selection)
    return selection
  }
}

/** What a document has to be. */
interface DocumentTest {
  readonly filter: DocumentFilter
  readonly keyPrefix: Buffer | undefined
}

function buildTest({
  filter,
  exclusion,
  keyPrefix,
}: Pick<QueryRequest, 'filter' | 'exclusion' | 'keyPrefix'>): DocumentTest {
  const filters: DocumentFilter[] = []
  if (filter !== undefined) filters.push(buildDocumentFilter(filter, 'filter_query'))
  if (exclusion !== undefined) {
    filters.push({ kind: 'not', filter: buildDocumentFilter(exclusion, 'exclusion_query') })
  }
  return { filter: { kind: 'and', filters }, keyPrefix }
}

/** Tests the documents themselves. */
class DocumentFiltering implements NearestFilter {
  readonly #run: QueryRun
  readonly #test: DocumentTest
  readonly #paths: ReturnType<typeof pathsOfFilter>
  /** By key: documents of two indexes are tested once. */
  readonly #verdicts = new Map<string, boolean>()
  #isIncomplete = false

  constructor(run: QueryRun, test: DocumentTest) {
    this.#run = run
    this.#test = test
    this.#paths = pathsOfFilter(test.filter)
  }

  get warnings(): readonly string[] {
    return this.#isIncomplete ? [INCOMPLETE] : []
  }

  async nearest(
    shard: QueriedShard,
    request: AnyRequest,
    ask: AskNearest,
  ): Promise<readonly NearestHit[]> {
    let limit = request.limit
    for (;;) {
      limit = Math.min(limit * GROWTH, NEAREST_LIMIT_MAX)
      const { hits } = await ask({ ...request, limit })
      const passed = await this.#passed(shard, hits, request.limit)
      const isAll = hits.length < limit
      if (passed.length === request.limit || isAll) return passed
      if (limit === NEAREST_LIMIT_MAX) {
        this.#isIncomplete = true
        return passed
      }
    }
  }

  async #passed(
    shard: QueriedShard,
    hits: readonly NearestHit[],
    limit: number,
  ): Promise<readonly NearestHit[]> {
    const passed: NearestHit[] = []
    for (let at = 0; at < hits.length && passed.length < limit; at += READ_AT_ONCE) {
      const some = hits.slice(at, at + READ_AT_ONCE)
      const verdicts = await Promise.all(
        some.map(({ key }) => this.#passes(shard, Buffer.from(key))),
      )
      passed.push(...some.filter((_, i) => verdicts[i] === true))
    }
    return passed.slice(0, limit)
  }

  async #passes(shard: QueriedShard, key: Buffer): Promise<boolean> {
    const { keyPrefix } = this.#test
    const hasPrefix = keyPrefix === undefined || beginsWith(key, keyPrefix)
    if (!hasPrefix) return false
    const name = key.toString('latin1')
    const known = this.#verdicts.get(name)
    if (known !== undefined) return known
    const record = await shard.read(key)
    const json = record === undefined ? undefined : jsonOf(record)
    const options = { clock: this.#run.clock, signal: this.#run.signal }
    const verdict = json !== undefined && (await runInTurn(this.#matches(json, key), options))
    this.#verdicts.set(name, verdict)
    return verdict
  }

  *#matches(json: Buffer, key: Buffer): Sliced<boolean> {
    const document = yield* documentAtPaths(json, this.#paths)
    if (json.length > SLICED_BYTES_MIN) yield
    return isJsonObject(document) && matchesFilter(this.#test.filter, document, key)
  }
}

function beginsWith(key: Buffer, prefix: Buffer): boolean {
  return key.subarray(0, prefix.length).equals(prefix)
}
