// A client of the store: one method for each operationId of openapi/store.v1.yaml.
//
// Every method rejects with a QuarryError (see errors.ts), or with the reason of the caller's signal.

import type {
  BatchRequest,
  ClusterNode,
  ClusterShard,
  ClusterStatus,
  CollectRequest,
  CommitCommitted,
  CommitRequest,
  CreateTableRequest,
  CrossTableBatchRequest,
  CrossTableBatchResult,
  Document,
  FailedQuery,
  HandOverRequest,
  CreatedIndex,
  Index,
  IndexConfig,
  Leftovers,
  LoadedSettings,
  MergeRequest,
  MergeResult,
  MoveRequest,
  NodeList,
  QueryAnswer,
  QueryRequest,
  QueryResult,
  Recovery,
  RecoveryRequest,
  ReloadRequest,
  ScanEnvelope,
  ScanLine,
  ScanRequest,
  ShardPage,
  ShardTroubleFilter,
  Table,
  TableSchema,
  TableStatus,
  TransferRequest,
  WriteCounts,
} from './contract/store.v1.ts'
import { NotFoundError, QuarryError } from './errors.ts'
import { HttpTransport } from './http-transport.ts'
import type { Call, CallOptions, ClientOptions, Json } from './http-transport.ts'

/** The options of a write. */
export interface WriteOptions extends CallOptions {
  /**
   * Absent: the client generates a key for each call, so that it can retry after a broken connection and
   * the write applies once. Your own key makes several calls one write. `false` sends no key: that saves
   * the store a round of syncs, and a broken connection is an error.
   */
  readonly idempotencyKey?: string | false
}

/** The options of `listTables`. */
export interface ListOptions extends CallOptions {
  /** Only tables with this prefix. */
  readonly prefix?: string
  /** Only tables whose names match this regular expression. */
  readonly pattern?: string
}

/** The operation of which a call is a part: repeating the call is harmless, and other operations are refused. */
export type SteerOptions = CallOptions & { readonly operationId?: string }

/** The options of `listShards`. */
export interface ListShardsOptions extends CallOptions {
  /** Only the shards of this table. */
  readonly table?: string
  /** Only shards with this trouble, or with any. */
  readonly trouble?: ShardTroubleFilter
  /** The most shards of a page. */
  readonly limit?: number
  /** `next_cursor` of the page before. */
  readonly cursor?: string
}

/** The options of reads. */
export interface ReadOptions extends CallOptions {
  /**
   * With `stale` any replica answers, without asking a leader: all as it was at one moment, a second ago or less
   * while the cluster is well. Absent: the read sees every write that was acknowledged before.
   */
  readonly consistency?: 'linearizable' | 'stale'
}

/** The options of `searchTable`. Absent options take the server's defaults. */
export interface SearchOptions extends ReadOptions {
  /** The text of a search box. Any text is a valid query. */
  readonly q?: string
  readonly limit?: number
  readonly offset?: number
  /** Fields to search, optionally with weights such as `title^3`. Absent: all text. */
  readonly searchFields?: readonly string[]
  /** Parts of the documents to return, as in a lookup. */
  readonly fields?: readonly string[]
  /** Asks which words look mistyped: `suggestions` of the answer. Default: which of them no document has. */
  readonly suggest?: boolean | 'auto'
  /** The time limit of the query, such as `500ms`. */
  readonly timeout?: string
}

/** The options of `lookupDocument`. */
export interface LookupOptions extends ReadOptions {
  /** Parts to return: `author.name`, `chapters.*`; `-body` leaves one out. */
  readonly fields?: readonly string[]
}

/** The result of a lookup. */
export interface LookedUp {
  /** Undefined if the table has no document with the key. */
  readonly document: Document | undefined
  /** The version for the `read_set` of a commit; `0` if the document does not exist. */
  readonly version: string
  /** For stale lookups: by how many milliseconds the document is old. */
  readonly staleness?: number
}

/** The options of `createIndex`. */
export interface CreateIndexOptions extends CallOptions {
  readonly config: IndexConfig
}

const API = '/api/v1'
const VERSION = 'x-service-version'
const STALENESS = 'x-service-staleness'

/** A client of one store. It holds no connection open that must be closed. */
export class StoreClient {
  readonly #transport: HttpTransport

  constructor(options: ClientOptions) {
    this.#transport = new HttpTransport(options)
  }

  /** Resolves while the server's process runs. */
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

  /** The status of the service and of each shard. */
  getStatus(options?: CallOptions): Promise<ClusterStatus> {
    return this.#transport.json({ method: 'GET', path: `${API}/status`, options })
  }

  /** The tables with their shards and their size on disk. */
  listTables({ prefix, pattern, ...options }: ListOptions = {}): Promise<readonly TableStatus[]> {
    const path = `${API}/tables${queryString({ prefix, pattern })}`
    return this.#transport.json({ method: 'GET', path, options })
  }

  /** Creates a table. Rejects with AlreadyExistsError if the name is in use. */
  createTable(
    table: string,
    request: CreateTableRequest = {},
    options?: CallOptions,
  ): Promise<Table> {
    return this.#transport.json({ method: 'POST', path: tablePath(table), json: request, options })
  }

  /** A table with its shards, its schema and its size on disk. */
  getTable(table: string, options?: CallOptions): Promise<TableStatus> {
    return this.#transport.json({ method: 'GET', path: tablePath(table), options })
  }

  /** Removes a table with all its documents. */
  dropTable(table: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: tablePath(table), options })
  }

  /** Replaces the schema of a table. Indexes are rebuilt in the background. */
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

  /** All indexes of a table with their state. */
  listIndexes(table: string, options?: CallOptions): Promise<readonly Index[]> {
    return this.#transport.json({ method: 'GET', path: `${tablePath(table)}/indexes`, options })
  }

  /** An index with its state. */
  getIndex(table: string, index: string, options?: CallOptions): Promise<Index> {
    return this.#transport.json({ method: 'GET', path: indexPath(table, index), options })
  }

  /** Resolves when the build of the index has begun. `getIndex` shows its progress. */
  createIndex(table: string, index: string, options: CreateIndexOptions): Promise<CreatedIndex> {
    const { config, ...rest } = options
    const path = indexPath(table, index)
    return this.#transport.json({ method: 'POST', path, json: config, options: rest })
  }

  /** Removes an index. */
  dropIndex(table: string, index: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: indexPath(table, index), options })
  }

  /** Writes to one table. Either all operations apply or none. */
  batchWrite(table: string, request: BatchRequest, options?: WriteOptions): Promise<WriteCounts> {
    return this.#write(`${tablePath(table)}/batch`, request, options)
  }

  /** Writes to several tables. Either all operations apply or none. */
  crossTableBatch(
    request: CrossTableBatchRequest,
    options?: WriteOptions,
  ): Promise<CrossTableBatchResult> {
    return this.#write(`${API}/batch`, request, options)
  }

  /** Commits reads and writes. If a version has changed, it rejects with a ConflictError with its key. */
  commitTransaction(request: CommitRequest, options?: WriteOptions): Promise<CommitCommitted> {
    return this.#write(`${API}/transactions/commit`, request, options)
  }

  /** Merges one page of a sorted source into a table; the contract says how to send the next page. */
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

  /** Searches as a search box does. Without `q`, every document is a hit. */
  async searchTable(table: string, search: SearchOptions = {}): Promise<QueryResult> {
    const { q, limit, offset, searchFields, fields, suggest, timeout, ...others } = search
    const { consistency, ...options } = others
    const asked = queryString({
      q,
      consistency,
      limit: limit?.toString(),
      offset: offset?.toString(),
      search_fields: searchFields?.join(','),
      fields: fields?.join(','),
      suggest: suggest?.toString(),
      timeout,
    })
    const path = `${tablePath(table)}/query${asked}`
    const { responses }: QueryAnswer = await this.#transport.json({ method: 'GET', path, options })
    return resultOf(responses)
  }

  /** Runs one query of the query language. */
  async queryTable(
    table: string,
    query: QueryRequest,
    options?: ReadOptions,
  ): Promise<QueryResult> {
    const body = this.#transport.codec.stringify(query)
    return resultOf(await this.#query(`${tablePath(table)}/query`, body, options))
  }

  /**
   * Runs up to 100 queries, each on the table that it names. The results are in the order of the queries.
   * A failed query has `error` and `code`, but a single query that fails rejects.
   */
  queryGlobal(
    queries: readonly QueryRequest[],
    options?: ReadOptions,
  ): Promise<readonly (QueryResult | FailedQuery)[]> {
    const lines = queries.map((query) => this.#transport.codec.stringify(query))
    return this.#query(`${API}/query`, lines.join('\n'), options)
  }

  /**
   * The lines of a key range in key order, from one consistent snapshot. Leaving the loop ends the scan.
   * The loop throws if the answer is interrupted, so a scan that ends without an error is complete.
   */
  scanTable(
    table: string,
    request?: ScanRequest & { readonly envelope?: false },
    options?: ReadOptions,
  ): AsyncGenerator<ScanLine>
  /** With `envelope`, each line has the whole document beside its key, and no member gives way. */
  scanTable(
    table: string,
    request: ScanRequest & { readonly envelope: true },
    options?: ReadOptions,
  ): AsyncGenerator<ScanEnvelope>
  async *scanTable(
    table: string,
    request: ScanRequest = {},
    { consistency, ...options }: ReadOptions = {},
  ): AsyncGenerator<ScanLine | ScanEnvelope> {
    const call: Call = {
      method: 'POST',
      path: `${tablePath(table)}/lookup${queryString({ consistency })}`,
      accept: 'application/x-ndjson',
      json: request,
      repeatable: 'always',
      options,
    }
    yield* this.#transport.lines(call, (line) => !('key' in line || '_key' in line))
  }

  /** Rejects with NotFoundError for a missing table, but resolves for a missing document. */
  async lookupDocument(
    table: string,
    key: string,
    { fields, consistency, ...options }: LookupOptions = {},
  ): Promise<LookedUp> {
    const query = queryString({ fields: fields?.join(','), consistency })
    const path = `${tablePath(table)}/lookup/${encodeURIComponent(key)}${query}`
    try {
      const { headers, text } = await this.#transport.exchange({ method: 'GET', path, options })
      const document: Document = this.#transport.parse(text)
      return { document, version: headers.get(VERSION) ?? '', ...stalenessIn(headers) }
    } catch (error) {
      const headers = error instanceof NotFoundError ? error.headers : undefined
      const version = headers?.get(VERSION) ?? undefined
      if (version === undefined || headers === undefined) throw error
      return { document: undefined, version, ...stalenessIn(headers) }
    }
  }

  /**
   * The nodes of the cluster with what they hold. A store in swarm mode lists itself. With `age_ms` they are as the asked
   * node knows them, because no controller reports.
   */
  listNodes(options?: CallOptions): Promise<NodeList> {
    return this.#transport.json({ method: 'GET', path: `${API}/cluster/nodes`, options })
  }

  /** Gives what the node holds to others. `listNodes` shows the progress in `emptying`. */
  drainNode(node: string, options?: SteerOptions): Promise<ClusterNode> {
    return this.#steerNode(`${nodePath(node)}/drain`, options)
  }

  /** Ends a drain, and the hold of a hand-over; with an operation, only those of that one. */
  undrainNode(node: string, options?: SteerOptions): Promise<ClusterNode> {
    return this.#steerNode(`${nodePath(node)}/undrain`, options)
  }

  /** Empties the node; it is never used again. */
  decommissionNode(node: string, options?: SteerOptions): Promise<ClusterNode> {
    return this.#steerNode(`${nodePath(node)}/decommission`, options)
  }

  /** Lets others lead what the node leads, and gives it no leaderships for a while. `listNodes` shows `leaders` and `hold`. */
  handOverLeaders(
    node: string,
    request: HandOverRequest = {},
    options?: CallOptions,
  ): Promise<ClusterNode> {
    return this.#steer(`${nodePath(node)}/hand-over`, request, options)
  }

  /** Forgets a node that was decommissioned, is gone and holds nothing. */
  forgetNode(node: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: nodePath(node), options })
  }

  /** Lists the replicas on the node that belong to no table, after it has removed those that are named. */
  collectLeftovers(
    node: string,
    request: CollectRequest = {},
    options?: CallOptions,
  ): Promise<Leftovers> {
    return this.#steer(`${nodePath(node)}/collect`, request, options)
  }

  /** Makes a control plane that was restored from a backup the newest again. Without a node that waits, nothing changes. */
  recoverCluster(request: RecoveryRequest = {}, options?: CallOptions): Promise<Recovery> {
    return this.#steer(`${API}/cluster/recover`, request, options)
  }

  /** The node that is asked loads its secrets, certificates and log level again. */
  reloadNode(request: ReloadRequest = {}, options?: CallOptions): Promise<LoadedSettings> {
    return this.#steer(`${API}/node/reload`, request, options)
  }

  /** One page of shards with their leaders, replicas and troubles. */
  listShards({
    table,
    trouble,
    limit,
    cursor,
    ...options
  }: ListShardsOptions = {}): Promise<ShardPage> {
    const query = queryString({ table, trouble, limit: limit?.toString(), cursor })
    return this.#transport.json({ method: 'GET', path: `${API}/cluster/shards${query}`, options })
  }

  /** Moves a replica. `listShards` shows the progress in `move`. */
  moveReplica(shard: string, request: MoveRequest, options?: CallOptions): Promise<ClusterShard> {
    return this.#steer(`${shardPath(shard)}/move`, request, options)
  }

  /** Lets a replica that is in sync lead. */
  transferLeader(
    shard: string,
    request: TransferRequest,
    options?: CallOptions,
  ): Promise<ClusterShard> {
    return this.#steer(`${shardPath(shard)}/transfer-leader`, request, options)
  }

  #steerNode(path: string, { operationId, ...options }: SteerOptions = {}): Promise<ClusterNode> {
    const body = operationId === undefined ? undefined : { operation_id: operationId }
    return this.#steer(path, body, options)
  }

  /** Asking for what is so already, or under way, is harmless. */
  #steer(
    path: string,
    request: object | undefined,
    options: CallOptions | undefined,
  ): Promise<Json> {
    const call: Call = { method: 'POST', path, repeatable: 'always', options }
    return this.#transport.json(request === undefined ? call : { ...call, json: request })
  }

  async #query(
    path: string,
    body: string,
    { consistency, ...options }: ReadOptions = {},
  ): Promise<QueryAnswer['responses']> {
    const asked = `${path}${queryString({ consistency })}`
    const call: Call = { method: 'POST', path: asked, body, repeatable: 'always', options }
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

/** The result of a single query. The server answers a failed single query with an error. */
function resultOf([result]: QueryAnswer['responses']): QueryResult {
  if (result !== undefined && 'hits' in result) return result
  throw new QuarryError('the server answered without the result of the query')
}

/** Absent unless the read was stale. */
function stalenessIn(headers: { get(name: string): string | null }): Pick<LookedUp, 'staleness'> {
  const text = headers.get(STALENESS)
  return text === null ? {} : { staleness: Number(text) }
}

function tablePath(table: string): string {
  return `${API}/tables/${encodeURIComponent(table)}`
}

function indexPath(table: string, index: string): string {
  return `${tablePath(table)}/indexes/${encodeURIComponent(index)}`
}

function nodePath(node: string): string {
  return `${API}/cluster/nodes/${encodeURIComponent(node)}`
}

function shardPath(shard: string): string {
  return `${API}/cluster/shards/${encodeURIComponent(shard)}`
}

/** The query string with its question mark; empty without parameters. */
function queryString(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) given.append(name, value)
  }
  return given.size === 0 ? '' : `?${given.toString()}`
}
