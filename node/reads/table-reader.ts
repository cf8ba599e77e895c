// Lookups and scans of tables, by leaders or by any replica.

import { runInTurn } from '../../lib/sliced.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import { fieldsFor } from '../catalog/tables/fields-now.ts'
import type { KnownTables } from '../catalog/tables/known-tables.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'
import { textIndexesOf } from '../catalog/tables/table-indexes.ts'
import type { Projection } from '../document/projection.ts'
import { DocumentTester } from '../index/text/documents/document-tester.ts'
import { NO_CONDITIONS } from '../index/text/search/text-search.ts'
import { keysOf } from '../query/query-fields.ts'
import type { TableField } from '../schema/table-field.ts'
import { intersectRanges } from '../shard/command/key-range.ts'
import type { TableFieldsDirectory } from '../shard/following/table-fields.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../shard/format/document-record.ts'
import type { ReadPins } from './read-pins.ts'
import { scanLines } from './scan-lines.ts'
import type { ScanCallOptions, ScanRequest } from './scan-request.ts'
import { SpecialReader } from './special/special-reader.ts'
import type { Aged, StaleReads } from './stale-reads.ts'
import { keyRangeOf, pinned, scanTable } from './table-scan.ts'

/** A document as a lookup answers it. */
export interface StoredDocument {
  readonly version: Timestamp
  /** The JSON text as stored. */
  readonly json: Buffer
}

type LookedUp = StoredDocument | undefined

/** What is read with. */
export interface TableReaderOptions {
  readonly clock: Clock
  readonly tables: KnownTables
  readonly pins: ReadPins
  /** What the fields of tables mean, for filters that no index answers. */
  readonly fields: TableFieldsDirectory
  /** Undefined: each shard has one replica, whose newest state is the answer to stale reads. */
  readonly stale: StaleReads | undefined
}

/** The reads of `StoreService`. */
export class TableReader {
  readonly #with: TableReaderOptions

  constructor(options: TableReaderOptions) {
    this.#with = options
  }

  lookup(name: string, key: Buffer): LookedUp | Promise<LookedUp> {
    const { tables } = this.#with
    const table = tables.find(name)
    if (table === undefined) return tables.learn(name).then((known) => lookUp(known, key))
    return lookUp(table, key)
  }

  async lookupSpecial(name: string, key: Buffer, projection: Projection): Promise<string> {
    const table = await this.#with.tables.learn(name)
    const [special = '{}'] = await this.specialOf(table, projection, undefined).read([key])
    return special
  }

  async lookupStale(name: string, key: Buffer): Promise<Aged<LookedUp>> {
    const { stale, tables } = this.#with
    if (stale === undefined) return { value: await this.lookup(name, key), stalenessMs: 0 }
    const found = await stale.lookup(tables.get(name).shardOf(key), key)
    return { ...found, value: storedOf(found.value) }
  }

  async scan(
    name: string,
    request: ScanRequest,
    options: ScanCallOptions,
  ): Promise<AsyncIterable<Buffer>> {
    const { tables, pins } = this.#with
    const table = await tables.learn(name)
    const scanned = scannedBy(request, options)
    const tester = await this.#testerOf(table, request.filter)
    return this.#lines(table, scanTable(pins, { ...scanned, table }), { request, options, tester })
  }

  async scanStale(
    name: string,
    request: ScanRequest,
    options: ScanCallOptions,
  ): Promise<Aged<AsyncIterable<Buffer>>> {
    const { stale, tables, pins } = this.#with
    const scanned = scannedBy(request, options)
    const table = tables.get(name)
    const met = table.shards.filter((one) => intersectRanges(scanned.range, one.range))
    if (stale === undefined || met.length === 0) {
      return { value: await this.scan(name, request, options), stalenessMs: 0 }
    }
    const { value: view, stalenessMs } = await stale.open(met, options.signal)
    const tester = await this.#testerOf(table, request.filter, true)
    const pages = pinned(pins, { shards: met, at: view.at }, view.scan(scanned))
    return { value: this.#lines(table, pages, { request, options, tester }), stalenessMs }
  }

  /** The artifacts are the newest: the leaders of the shards answer for them. */
  specialOf(
    table: OpenTable,
    projection: Projection,
    signal: AbortSignal | undefined,
  ): SpecialReader {
    return new SpecialReader({ clock: this.#with.clock, table, projection, signal })
  }

  fieldsOf({ tableId, indexes }: OpenTable, isStale: boolean): Promise<readonly TableField[]> {
    const { fields, clock } = this.#with
    const isIndexed = textIndexesOf(indexes).length > 0
    return fieldsFor(fields.of(tableId), { isIndexed, isStale, clock })
  }

  #lines(
    table: OpenTable,
    pages: Parameters<typeof scanLines>[0],
    { request, options, tester }: LineParts,
  ): AsyncIterable<Buffer> {
    const { clock } = this.#with
    const { signal, memory } = options
    const special = (projection: Projection) => this.specialOf(table, projection, signal)
    return scanLines(pages, request, { clock, special, tester, memory })
  }

  async #testerOf(
    table: OpenTable,
    filter: ScanRequest['filter'],
    isStale = false,
  ): Promise<DocumentTester | undefined> {
    if (filter === undefined) return undefined
    const tested = { schema: table.schema, fields: await this.fieldsOf(table, isStale) }
    const opening = DocumentTester.open(tested, { ...NO_CONDITIONS, filter })
    return runInTurn(opening, { clock: this.#with.clock })
  }
}

interface LineParts {
  readonly request: ScanRequest
  readonly options: ScanCallOptions
  readonly tester: DocumentTester | undefined
}

function scannedBy(request: ScanRequest, { signal }: ScanCallOptions) {
  return { range: keyRangeOf(request), keys: request.filter && keysOf(request.filter), signal }
}

function lookUp(table: OpenTable, key: Buffer): LookedUp | Promise<LookedUp> {
  const found = table.shardOf(key).read(key)
  return found instanceof Promise ? found.then(storedOf) : storedOf(found)
}

function storedOf(record: DocumentRecord | undefined): LookedUp {
  return record === undefined ? undefined : { version: versionOf(record), json: jsonOf(record) }
}
