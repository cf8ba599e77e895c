// The store's API: a method for each operation of openapi/store.v1.yaml, by its operationId.
//
// Every method rejects with a QuarryError (see errors.ts), or with the reason of the caller's signal.

import type {
  BatchRequest,
  ClusterStatus,
  CommitCommitted,
  CommitRequest,
  CreateTableRequest,
  CrossTableBatchRequest,
  CrossTableBatchResult,
  Document,
  FailedQuery,
  Index,
  IndexConfig,
  MergeRequest,
  MergeResult,
  QueryAnswer,
  QueryRequest,
  QueryResult,
  ScanLine,
  ScanRequest,
  Table,
  TableSchema,
  TableStatus,
  WriteCounts,
} from './contract/store.v1.ts'
import { NotFoundError, QuarryError } from './errors.ts'
import { HttpTransport } from './http-transport.ts'
import type { Call, CallOptions, ClientOptions, Json } from './http-transport.ts'

export interface WriteOptions extends CallOptions {
  /**
   * By default the client makes one up for each call, so that it may send the call again when a
   * connection breaks: the write applies once. A key of your own makes calls of yours one write.
   * `false` sends none: that saves the store a round of syncs, and a broken connection is an error.
   */
  readonly idempotencyKey?: string | false
}

export interface ListOptions extends CallOptions {
  /** Only tables whose names begin with this. */
  readonly prefix?: string
  /** Only tables whose names match this regular expression. */
  readonly pattern?: string
}

export interface SearchOptions extends CallOptions {
  /** What a person typed. */
  readonly q?: string
  readonly limit?: number
  readonly offset?: number
  /** Fields to search, each perhaps with a weight: `title^3`. Default: all text. */
  readonly searchFields?: readonly string[]
  /** Parts of the documents to return, as in a lookup. */
  readonly fields?: readonly string[]
  /** How long the query may take, such as `500ms`. */
  readonly timeout?: string
}

export interface LookupOptions extends CallOptions {
  /** Parts to return: `author.name`, `chapters.*`; `-body` leaves one out. */
  readonly fields?: readonly string[]
}

export interface LookedUp {
  /** Undefined if the table has no document of the key. */
  readonly document: Document | undefined
  /** For the `read_set` of a commit; `0` if there is no document. */
  readonly version: string
}

export interface CreateIndexOptions extends CallOptions {
  readonly config: IndexConfig
}

const API = '/api/v1'
const VERSION = 'x-service-version'

export class StoreClient {
  readonly #transport: HttpTransport

  constructor(options: ClientOptions) {
    this.#transport = new HttpTransport(options)
  }

  async getHealth(options?: CallOptions): Promise<string> {
    const call: Call = { method: 'GET', path: '/healthz', accept: 'text/plain', options }
    return (await this.#transport.exchange(call)).text
  }

  /** The contract in YAML. */
  async getContract(options?: CallOptions): Promise<string> {
    const path = `${API}/openapi.yaml`
    const call: Call = { method: 'GET', path, accept: 'application/yaml', options }
    return (await this.#transport.exchange(call)).text
  }

  getStatus(options?: CallOptions): Promise<ClusterStatus> {
    return this.#transport.json({ method: 'GET', path: `${API}/status`, options })
  }

  listTables({ prefix, pattern, ...options }: ListOptions = {}): Promise<readonly TableStatus[]> {
    const path = `${API}/tables${queryString({ prefix, pattern })}`
    return this.#transport.json({ method: 'GET', path, options })
  }

  createTable(
    table: string,
    request: CreateTableRequest = {},
    options?: CallOptions,
  ): Promise<Table> {
    return this.#transport.json({ method: 'POST', path: tablePath(table), json: request, options })
  }

  getTable(table: string, options?: CallOptions): Promise<TableStatus> {
    return this.#transport.json({ method: 'GET', path: tablePath(table), options })
  }

  dropTable(table: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: tablePath(table), options })
  }

  updateTableSchema(table: string, schema: TableSchema, options?: CallOptions): Promise<Table> {
    const path = `${tablePath(table)}/schema`
    return this.#transport.json({
      method: 'PUT',
      path,
      json: schema,
      repeatable: 'always',
      options,
    })
  }

  listIndexes(table: string, options?: CallOptions): Promise<readonly Index[]> {
    return this.#transport.json({ method: 'GET', path: `${tablePath(table)}/indexes`, options })
  }

  getIndex(table: string, index: string, options?: CallOptions): Promise<Index> {
    return this.#transport.json({ method: 'GET', path: indexPath(table, index), options })
  }

  /** Resolves when the index is being built; `getIndex` shows how far it is. */
  createIndex(table: string, index: string, options: CreateIndexOptions): Promise<void> {
    const { config, ...rest } = options
    const path = indexPath(table, index)
    return this.#transport.json({ method: 'POST', path, json: config, options: rest })
  }

  dropIndex(table: string, index: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: indexPath(table, index), options })
  }

  batchWrite(table: string, request: BatchRequest, options?: WriteOptions): Promise<WriteCounts> {
    return this.#write(`${tablePath(table)}/batch`, request, options)
  }

  crossTableBatch(
    request: CrossTableBatchRequest,
    options?: WriteOptions,
  ): Promise<CrossTableBatchResult> {
    return this.#write(`${API}/batch`, request, options)
  }

  /** Rejects with a ConflictError whose `conflict` names the key, if a version has changed. */
  commitTransaction(request: CommitRequest, options?: WriteOptions): Promise<CommitCommitted> {
    return this.#write(`${API}/transactions/commit`, request, options)
  }

  mergeTable(table: string, request: MergeRequest, options?: CallOptions): Promise<MergeResult> {
    const path = `${tablePath(table)}/merge`
    return this.#transport.json({
      method: 'POST',
      path,
      json: request,
      repeatable: 'always',
      options,
    })
  }

  /** As a search box does: any text is a query. Without `q`, every document is a hit. */
  async searchTable(
    table: string,
    { q, limit, offset, searchFields, fields, timeout, ...options }: SearchOptions = {},
  ): Promise<QueryResult> {
    const asked = queryString({
      q,
      limit: limit?.toString(),
      offset: offset?.toString(),
      search_fields: searchFields?.join(','),
      fields: fields?.join(','),
      timeout,
    })
    const path = `${tablePath(table)}/query${asked}`
    const { responses }: QueryAnswer = await this.#transport.json({ method: 'GET', path, options })
    return resultOf(responses)
  }

  async queryTable(
    table: string,
    query: QueryRequest,
    options?: CallOptions,
  ): Promise<QueryResult> {
    const body = this.#transport.codec.stringify(query)
    return resultOf(await this.#query(`${tablePath(table)}/query`, body, options))
  }

  /**
   * Up to 100 queries, each of the table that it names. The results come in the order of the queries,
   * and those that failed have `error` and `code`. A lone query that fails is an error.
   */
  queryGlobal(
    queries: readonly QueryRequest[],
    options?: CallOptions,
  ): Promise<readonly (QueryResult | FailedQuery)[]> {
    const lines = queries.map((query) => this.#transport.codec.stringify(query))
    return this.#query(`${API}/query`, lines.join('\n'), options)
  }

  /**
   * The lines of a key range in the order of the keys, as they arrive, all as the table was at one
   * moment. Leave the loop when you have enough. It throws in its middle if the answer breaks off: a
   * scan that ends without an error was complete.
   */
  async *scanTable(
    table: string,
    request: ScanRequest = {},
    options?: CallOptions,
  ): AsyncGenerator<ScanLine> {
    const call: Call = {
      method: 'POST',
      path: `${tablePath(table)}/lookup`,
      accept: 'application/x-ndjson',
      json: request,
      repeatable: 'always',
      options,
    }
    yield* this.#transport.lines(call, (line) => !('key' in line))
  }

  /** A table that does not exist is a NotFoundError; a document that does not exist is an answer. */
  async lookupDocument(
    table: string,
    key: string,
    { fields, ...options }: LookupOptions = {},
  ): Promise<LookedUp> {
    const query = queryString({ fields: fields?.join(',') })
    const path = `${tablePath(table)}/lookup/${encodeURIComponent(key)}${query}`
    try {
      const { headers, text } = await this.#transport.exchange({ method: 'GET', path, options })
      return { document: this.#transport.codec.parse(text), version: headers.get(VERSION) ?? '' }
    } catch (error) {
      const version = error instanceof NotFoundError ? error.headers.get(VERSION) : null
      if (version === null) throw error
      return { document: undefined, version }
    }
  }

  async #query(
    path: string,
    body: string,
    options: CallOptions | undefined,
  ): Promise<QueryAnswer['responses']> {
    const call: Call = { method: 'POST', path, body, repeatable: 'always', options }
    const { responses }: QueryAnswer = await this.#transport.json(call)
    return responses
  }

  #write(path: string, json: object, options: WriteOptions = {}): Promise<Json> {
    const { idempotencyKey = crypto.randomUUID(), ...rest } = options
    if (idempotencyKey === false) {
      return this.#transport.json({ method: 'POST', path, json, options: rest })
    }
    return this.#transport.json({
      method: 'POST',
      path,
      json,
      headers: { 'idempotency-key': idempotencyKey },
      repeatable: 'always',
      options: rest,
    })
  }
}

/** Of a lone query, whose failure is an error of the request. */
function resultOf([result]: QueryAnswer['responses']): QueryResult {
  if (result !== undefined && 'hits' in result) return result
  throw new QuarryError('the server answered without the result of the query')
}

function tablePath(table: string): string {
  return `${API}/tables/${encodeURIComponent(table)}`
}

function indexPath(table: string, index: string): string {
  return `${tablePath(table)}/indexes/${encodeURIComponent(index)}`
}

/** With its question mark; empty if nothing is asked. */
function queryString(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) given.append(name, value)
  }
  return given.size === 0 ? '' : `?${given.toString()}`
}
