// Filters the nearest documents of one shard.
//
//   table with a full_text index:     select ──► ordinals ──► nearest among them, all in the shard's indexes
//   table without one:                nearest ──► read and test documents ──► more of them, until enough pass
//
// The second way is exact, too, as far as NEAREST_LIMIT_MAX documents of a shard reach.

import { ServiceError } from '../../../lib/errors.ts'
import {
  NEAREST_LIMIT_MAX,
  type NearestAnswer,
  type NearestHit,
  type NearestRequest,
  type SparseRequest,
} from '../../index/vector/vector-search.ts'
import { TEXT_INDEX } from '../../index/kinds/text-descriptor.ts'
import type { TextSelection } from '../../index/text/search/run-text-select.ts'
import { DocumentTester, type TestedDocument } from '../../index/text/documents/document-tester.ts'
import { jsonOf } from '../../shard/format/document-record.ts'
import type { QueriedShard } from '../tables/queried-table.ts'
import { conditionsOf, type QueryRun } from '../run/query-run.ts'

/** Documents that are read at once: those of another node take a round trip each. */
const READ_AT_ONCE = 16
/** When too few documents passed, the next question asks for four times as many. */
const GROWTH = 4
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
  return textIndex === undefined ? new DocumentFiltering(run) : new Selections(run, textIndex)
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
    const asked = { kind: TEXT_INDEX.kind, question: 'select', request } as const
    const selection = this.#run.timed('select', () => this.#run.ask(shard, this.#textIndex, asked))
    this.#byShard.set(shard, selection)
    return selection
  }
}

/** Tests the documents themselves. */
class DocumentFiltering implements NearestFilter {
  readonly #run: QueryRun
  #tester: Promise<DocumentTester> | undefined
  /** By key: documents of two indexes are tested once. */
  readonly #verdicts = new Map<string, boolean>()
  #isIncomplete = false

  constructor(run: QueryRun) {
    this.#run = run
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
      await this.#judge(shard, some)
      passed.push(...some.filter(({ key }) => this.#verdicts.get(nameOf(key)) === true))
    }
    return passed.slice(0, limit)
  }

  /** Finds the verdicts that are not known yet. */
  async #judge(shard: QueriedShard, hits: readonly NearestHit[]): Promise<void> {
    const unknown = hits.filter(({ key }) => !this.#verdicts.has(nameOf(key)))
    const read = unknown.map(async ({ key }) => ({
      key,
      record: await shard.read(Buffer.from(key)),
    }))
    const documents: TestedDocument[] = []
    for (const { key, record } of await Promise.all(read)) {
      this.#verdicts.set(nameOf(key), false)
      const json = record === undefined ? undefined : jsonOf(record)
      if (json !== undefined) documents.push({ key, json })
    }
    this.#tester ??= this.#openTester()
    const passed = await this.#run.sliced((await this.#tester).test(documents))
    for (const [at, { key }] of documents.entries()) {
      this.#verdicts.set(nameOf(key), passed[at] === true)
    }
  }

  async #openTester(): Promise<DocumentTester> {
    const { table, request } = this.#run
    const fields = (await table.fieldsNow?.()) ?? []
    const conditions = conditionsOf(request, undefined)
    return this.#run.sliced(DocumentTester.open({ schema: table.schema, fields }, conditions))
  }
}

function nameOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1')
}
