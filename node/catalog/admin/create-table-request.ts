/** The body of a create request. Absent members take the defaults of the HTTP contract. */
export interface CreateTableRequest {
  readonly num_shards?: number
  readonly split_keys?: readonly string[]
  readonly description?: string
  readonly schema?: unknown
  /** By name, configurations. */
  readonly indexes?: Readonly<Record<string, unknown>>
  readonly replication_factor?: number
  readonly min_in_sync?: number
}
