// Every place that says whether a table's indexes are complete, against what searches find.
//
// One client writes new documents, so it knows at any time which are acknowledged. A look reads all places first, then
// searches: what is complete at the read must be found by the searches after it, and an answer must say what it lacks.

import { must } from '../../../lib/assert.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { GatedProvider } from '../servers/providers/gated-provider.ts'
import { sparseOf } from './completeness-documents.ts'
import { StoreProcess } from '../processes/store-process.ts'

/** A place said that nothing is missing, or less than is. */
export class FalsePromise extends Error {
  override readonly name = 'FalsePromise'
}

export interface CompletenessOptions {
  readonly dataDir: string
  readonly seed: number
  /** One for each round. */
  readonly faults: readonly Fault[]
  /** Instead of the program here. */
  readonly bin?: string
}

/** What was seen. A run in which nothing was ever behind proves nothing. */
export interface CompletenessSeen {
  readonly looks: number
  /** Looks at which a place said that documents are missing, and searches missed some. */
  readonly rightlyBehind: number
  readonly complete: number
}

const TABLE = 'library'
const BATCH = 400
const LOOKS_PER_ROUND = 12
const LIMIT = 10_000

type Kind = 'text' | 'managed' | 'external' | 'sparse'

/** By name, an index of each kind. The first one is built in. */
const INDEXES: Readonly<Record<string, Kind>> = {
  full_text_index_v0: 'text',
  more: 'text',
  meaning: 'managed',
  sent: 'external',
  words: 'sparse',
}

export const FAULTS = ['load', 'long texts', 'recreate', 'kill', 'stop', 'slow model'] as const
export type Fault = (typeof FAULTS)[number]

/** Full-text indexes take seconds for a batch of such documents, so that looks find them behind on any machine. */
const LONG_TEXT_WORDS = 1500

interface Status {
  readonly documents_behind: number
  readonly backfill_progress: number
  readonly rebuilding: boolean
  readonly error: string
  readonly enrichment?: { readonly pending: number }
}

interface Answer {
  readonly hits?: { readonly total: number }
  readonly documents_behind?: Readonly<Record<string, number>>
  readonly warnings?: readonly string[]
  readonly error?: string
}

/** Throws FalsePromise. */
export async function runCompleteness(options: CompletenessOptions): Promise<CompletenessSeen> {
  await using model = await GatedProvider.start()
  const rounds = new CompletenessRounds(options, model)
  try {
    return await rounds.run()
  } finally {
    model.open()
    await rounds.end()
  }
}

class CompletenessRounds {
  readonly #options: CompletenessOptions
  readonly #model: GatedProvider
  readonly #random: Random
  #store: StoreProcess | undefined
  #written = 0
  #looks = 0
  #rightlyBehind = 0
  #complete = 0

  constructor(options: CompletenessOptions, model: GatedProvider) {
    this.#options = options
    this.#model = model
    this.#random = seededRandom(options.seed)
  }

  async run(): Promise<CompletenessSeen> {
    await this.#start()
    await this.#call('POST', `/tables/${TABLE}`, { num_shards: 2 })
    for (const name of Object.keys(INDEXES).slice(1)) await this.#addIndex(name)
    for (const fault of this.#options.faults) {
      await this.#take(fault)
      for (let i = 0; i < LOOKS_PER_ROUND; i++) await this.#look()
      this.#model.open()
    }
    await this.#untilComplete()
    return { looks: this.#looks, rightlyBehind: this.#rightlyBehind, complete: this.#complete }
  }

  async end(): Promise<void> {
    await this.#store?.kill()
  }

  async #start(): Promise<void> {
    const { dataDir, bin } = this.#options
    const env = { QUARRY_PROVIDER_HOSTS: '127.0.0.1' }
    const options = { dataDir, env }
    this.#store = await StoreProcess.start(bin === undefined ? options : { ...options, bin })
  }

  async #take(fault: Fault): Promise<void> {
    const store = must(this.#store, 'a store')
    switch (fault) {
      case 'load':
        return this.#load(4)
      case 'long texts':
        return this.#load(2, LONG_TEXT_WORDS)
      case 'recreate': {
        // The full-text index takes all documents from the table anew; of the others, one that is drawn.
        const others = ['meaning', 'sent', 'words']
        const other = others[Math.floor(this.#random() * others.length)] ?? 'meaning'
        for (const name of ['more', other]) {
          await this.#call('DELETE', `/tables/${TABLE}/indexes/${name}`)
          await this.#addIndex(name)
        }
        return
      }
      case 'kill':
        await this.#load(2)
        await store.kill()
        return this.#start()
      case 'stop':
        await this.#load(2)
        await store.stop()
        return this.#start()
      case 'slow model':
        this.#model.close()
        return this.#load(2)
    }
  }

  async #load(batches: number, words = 0): Promise<void> {
    for (let i = 0; i < batches; i++) {
      const numbers = Array.from({ length: BATCH }, (_, at) => this.#written + at)
      const inserts = Object.fromEntries(numbers.map((n) => [keyOf(n), documentOf(n, words)]))
      await this.#call('POST', `/tables/${TABLE}/batch`, { inserts })
      this.#written += BATCH
    }
  }

  async #addIndex(name: string): Promise<void> {
    const at = `/tables/${TABLE}/indexes/${name}`
    await this.#call('POST', at, CONFIGS[must(INDEXES[name], 'an index')](this.#model.url))
    const kind = INDEXES[name]
    if (kind === 'external' || kind === 'sparse') this.#lost.set(name, this.#written)
  }

  /** Clients' vectors of documents that were written before their index was made anew: nobody has them. */
  readonly #lost = new Map<string, number>()

  /** Every place, then every index. */
  async #look(): Promise<void> {
    this.#looks += 1
    const written = this.#written
    const { text: metrics } = await this.#get(`${this.#health}/metrics`)
    const ready = JSON.parse((await this.#get(`${this.#health}/readyz`)).text)
    const status = await this.#call('GET', '/status')
    const behindOf = {
      metrics: Number(/^quarry_index_documents_behind (\d+)$/m.exec(metrics)?.[1]),
      readyz: ready.documents_behind,
      status: status.documents_behind,
      shards: Math.max(
        ...Object.values<{ documents_behind: number }>(status.shards).map(
          (one) => one.documents_behind,
        ),
      ),
    }
    const table = await this.#call('GET', `/tables/${TABLE}`)
    const listed: readonly { config: { name: string }; status: Status }[] = await this.#call(
      'GET',
      `/tables/${TABLE}/indexes`,
    )
    for (const { config, status: index } of listed) {
      const sure = written - (this.#lost.get(config.name) ?? 0)
      const said: Record<string, number> = { ...behindOf }
      said[`${config.name}.documents_behind`] = index.documents_behind
      if (isComplete(index)) said[`${config.name}.progress`] = 0
      const inTable: Status | undefined = table.index_status?.[config.name]
      if (inTable !== undefined) said['table'] = inTable.documents_behind
      await this.#compare(config.name, sure, said)
    }
  }

  async #compare(
    name: string,
    sure: number,
    said: Readonly<Record<string, number>>,
  ): Promise<void> {
    const missing = await this.#missingFrom(name, sure)
    for (const [place, behind] of Object.entries(said)) {
      // A refusal is honest; what says 0 right before it is not.
      if (behind === 0 && missing > 0) throw this.#false(`${place} (${name})`, 0, missing)
      if (behind === 0) this.#complete += 1
      else if (missing > 0) this.#rightlyBehind += 1
    }
  }

  /** Asks the index; a refusal lacks all. */
  async #missingFrom(name: string, sure: number): Promise<number> {
    const { hits, error, warnings, documents_behind: behind } = await this.#search(name)
    if (hits === undefined || error !== undefined) return sure
    const told = behind?.[name] ?? 0
    const missing = sure - hits.total
    if (told < missing) throw this.#false(`the answer of ${name}`, told, missing)
    if (told > 0 && warnings === undefined) throw this.#false(`the warnings of ${name}`, 0, missing)
    return missing
  }

  #false(place: string, said: number, missing: number): FalsePromise {
    const { seed } = this.#options
    return new FalsePromise(`${place} said ${said}, and ${missing} are missing (seed ${seed})`)
  }

  async #search(name: string): Promise<Answer> {
    const query = { ...QUERIES[must(INDEXES[name], 'an index')](name), indexes: [name] }
    const asked = { ...query, timeout: '20s' }
    const answer = await this.#call('POST', `/tables/${TABLE}/query`, asked, [503])
    return answer.responses?.[0] ?? {}
  }

  async #untilComplete(): Promise<void> {
    for (let looks = 0; looks < 1500; looks++) {
      await this.#look()
      const status = await this.#call('GET', '/status')
      if (status.documents_behind === 0) return this.#look()
    }
    throw new FalsePromise('the store never said that it is complete')
  }

  get #health(): string {
    return must(this.#store, 'a store').health
  }

  async #get(url: string) {
    const answer = await fetch(url)
    return { status: answer.status, text: await answer.text() }
  }

  async #call(method: string, at: string, body?: unknown, refusals: readonly number[] = []) {
    const { api } = must(this.#store, 'a store')
    const init = { method, headers: { 'content-type': 'application/json' } }
    const sent = body === undefined ? init : { ...init, body: JSON.stringify(body) }
    const answer = await fetch(`${api}/api/v1${at}`, sent)
    const text = await answer.text()
    if (!answer.ok && !refusals.includes(answer.status)) {
      throw new Error(`${method} ${at}: ${answer.status} ${text}`)
    }
    return answer.ok && text !== '' ? JSON.parse(text) : {}
  }
}

function isComplete({
  backfill_progress: progress,
  rebuilding,
  error,
  enrichment,
}: Status): boolean {
  return progress === 1 && !rebuilding && error === '' && (enrichment?.pending ?? 0) === 0
}

function keyOf(n: number): string {
  return `${'0123456789abcdef'[n % 16]}/${n}`
}

function documentOf(n: number, words: number): object {
  const { indices, values } = sparseOf(n)
  const long = Array.from({ length: words }, (_, i) => `w${(n * words + i).toString(36)}`)
  return {
    text: `every text ${n}`,
    ...(words === 0 ? {} : { long: long.join(' ') }),
    n,
    _embeddings: { sent: [1, n % 7], words: { indices, values } },
  }
}

const CONFIGS: Readonly<Record<Kind, (url: string) => object>> = {
  text: () => ({ type: 'full_text' }),
  managed: (url) => {
    const embedder = { provider: 'quarry', model: 'm', url }
    return { type: 'embeddings', field: 'text', engine: 'exact', embedder }
  },
  external: () => ({ type: 'embeddings', external: true, dimension: 2, engine: 'exact' }),
  sparse: () => ({ type: 'embeddings', external: true, sparse: true }),
}

const QUERIES: Readonly<Record<Kind, (name: string) => object>> = {
  text: () => ({ full_text_search: { match: 'every', field: 'text' }, limit: 1 }),
  managed: () => ({ semantic_search: 'every text', limit: LIMIT }),
  external: (name) => ({ embeddings: { [name]: [1, 0] }, limit: LIMIT, search_effort: 1 }),
  sparse: (name) => ({ embeddings: { [name]: { indices: [1], values: [1] } }, limit: LIMIT }),
}
