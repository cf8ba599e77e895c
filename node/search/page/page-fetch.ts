// Reads the documents of a page of hits. They go into the answer as the bytes that are stored.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { HeldMemory } from '../../../lib/http/request-memory.ts'
import { runInTurn, SliceClock, type Sliced } from '../../../lib/sliced.ts'
import { CursorWriter } from '../../query/request/query-cursor.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../../shard/format/document-record.ts'
import { SPECIAL_KEYS_MAX, withSpecial } from '../../reads/special/special-reader.ts'
import { projectStored } from '../../reads/stored-projection.ts'
import type { PageHit } from '../hits/found-hits.ts'
import type { FoundDocument, MarkDocuments } from './page-highlights.ts'
import type { QueryHit } from '../run/query-result.ts'

/** The limit of one page's documents in bytes: as much as one request may send. */
export const PAGE_BYTES_MAX = 64 * 1024 * 1024
const MIB = 1024 * 1024
/** The limits of documents in which words are marked at once, by their number and their bytes. */
const MARKED_MAX = 64
const MARKED_BYTES_MAX = MIB

const EMPTY = '{}'
const NO_BODY = Buffer.from(EMPTY)

/** What an answer has of the special members, which indexes keep of documents. */
export interface SpecialPart {
  /** Whether it has anything of the documents themselves. */
  readonly hasBody: boolean
  /** A JSON object for each key, in the order of at most SPECIAL_KEYS_MAX keys. */
  readonly read: (keys: readonly Buffer[]) => Promise<readonly string[]>
}

/** How `fetchPage` reads, shortens and marks the documents of one page. */
export interface PageFetchOptions {
  readonly clock: Clock
  readonly request: Pick<QueryRequest, 'projection' | 'order' | 'fullText'>
  /** Undefined: the query asks for nothing that indexes keep of documents. */
  readonly special?: SpecialPart | undefined
  /** Undefined: the query asks for no highlights. */
  readonly mark: MarkDocuments | undefined
  /** Answers undefined for a document that was deleted or has expired. */
  readonly read: (key: Buffer) => DocumentRecord | undefined | Promise<DocumentRecord | undefined>
  /** Charged with the bytes of the hits; undefined: nobody is charged. */
  readonly memory: HeldMemory | undefined
  /** What cursors of the hits carry of the scores. */
  readonly scoring?: string | undefined
}

/** The hits that still have a document. Refused: INVALID_ARGUMENT (too many bytes), OVERLOADED. */
export async function fetchPage(
  options: PageFetchOptions,
  page: readonly PageHit[],
): Promise<readonly QueryHit[]> {
  const { clock, read, special } = options
  const hits: QueryHit[] = []
  const making = { ...options, cursors: new CursorWriter(options.request.order, options.scoring) }
  const marking = options.mark === undefined ? undefined : new Marking(options.mark, hits)
  const size = new PageSize(options.memory)
  const slice = new SliceClock(clock)
  for (const hit of page) {
    if (slice.isOver) await slice.turn()
    const key = Buffer.from(hit.key)
    const found = read(key)
    const record = found instanceof Promise ? await found : found
    if (record === undefined) continue
    const made = runInTurn(hitOf(making, { ...hit, key }, record), { clock })
    // No wait without need: a page has up to ten thousand hits.
    const fetched = made instanceof Promise ? await made : made
    const { _source: source } = fetched
    size.add(source.length)
    hits.push(fetched)
    if (marking !== undefined) await marking.add({ key, json: jsonOf(record) })
  }
  await marking?.finish()
  if (special !== undefined) await addSpecial(hits, special, size)
  // The caller continues at once, perhaps with another page, so the slice must not be used up.
  if (slice.isOver) await slice.turn()
  return hits
}

/** The bytes of a page's documents. */
class PageSize {
  readonly #memory: HeldMemory | undefined
  #bytes = 0

  constructor(memory: HeldMemory | undefined) {
    this.#memory = memory
  }

  /** Throws INVALID_ARGUMENT or OVERLOADED for more than a page may have. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > PAGE_BYTES_MAX) throw tooLarge()
    this.#memory?.add(bytes)
  }
}

/** Puts the special members behind the others, some documents at a time. */
async function addSpecial(hits: QueryHit[], { read }: SpecialPart, size: PageSize): Promise<void> {
  for (let at = 0; at < hits.length; at += SPECIAL_KEYS_MAX) {
    const some = hits.slice(at, at + SPECIAL_KEYS_MAX)
    const texts = await read(some.map(({ _id: id }) => Buffer.from(id)))
    for (const [i, hit] of some.entries()) {
      const { _source: source } = hit
      const text = texts[i] ?? EMPTY
      size.add(text.length)
      hits[at + i] = { ...hit, _source: withSpecial(source, text) }
    }
  }
}

/** Adds highlights to the last hits, some at a time. */
class Marking {
  readonly #mark: MarkDocuments
  readonly #hits: QueryHit[]
  #documents: FoundDocument[] = []
  #bytes = 0

  constructor(mark: MarkDocuments, hits: QueryHit[]) {
    this.#mark = mark
    this.#hits = hits
  }

  /** The document of the last hit. */
  async add(document: FoundDocument): Promise<void> {
    this.#documents.push(document)
    this.#bytes += document.json.length
    if (this.#documents.length >= MARKED_MAX || this.#bytes >= MARKED_BYTES_MAX) await this.finish()
  }

  async finish(): Promise<void> {
    if (this.#documents.length === 0) return
    const first = this.#hits.length - this.#documents.length
    const marked = await this.#mark(this.#documents)
    for (const [i, highlight] of marked.entries()) {
      const hit = this.#hits[first + i]
      if (hit === undefined || highlight === undefined) continue
      this.#hits[first + i] = { ...hit, _highlight: highlight }
    }
    this.#documents = []
    this.#bytes = 0
  }
}

function* hitOf(
  { request, special, cursors }: PageFetchOptions & { readonly cursors: CursorWriter },
  {
    key,
    score,
    cursor,
    sortValues,
    indexScores,
    indexRanks,
    matched,
  }: PageHit & { readonly key: Buffer },
  record: DocumentRecord,
): Sliced<QueryHit> {
  const { fullText } = request
  const source = special?.hasBody === false ? NO_BODY : yield* bodyOf(request, record)
  const scores = indexScores ?? (fullText === undefined ? undefined : { full_text: score })
  return {
    _id: key.toString(),
    _score: score,
    ...(scores === undefined ? {} : { _index_scores: scores }),
    ...(indexRanks === undefined ? {} : { _index_ranks: indexRanks }),
    ...(matched === undefined ? {} : { _matched: matched }),
    _source: source,
    _sort: cursor ?? (sortValues && cursors.write(sortValues, key)) ?? [],
  }
}

function* bodyOf(
  { projection }: Pick<QueryRequest, 'projection'>,
  record: DocumentRecord,
): Sliced<Buffer> {
  const json = jsonOf(record)
  if (projection === undefined) return json
  return yield* projectStored(json, projection, versionOf(record))
}

function tooLarge(): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `limit: the documents of this page have more than ${PAGE_BYTES_MAX / MIB} MiB; ask for fewer ` +
      'hits (limit), for parts of the documents (fields), or walk the table with a scan',
  )
}
