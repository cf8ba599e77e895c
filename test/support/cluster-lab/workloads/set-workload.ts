// A set to which clients add. Each element is two documents on different shards, written as one: an element of
// which one half is seen is a torn transaction. Some clients go away at once (F21). Elements have a word, so
// that searches must find them.

import { systemClock } from '../../../../lib/clock.ts'
import { ClientHistory, type Violation } from '../../checkers/client-history.ts'
import { findSetViolations, type SetAnswer, type SetCall } from '../../checkers/set-checker.ts'
import {
  createTable,
  insist,
  linesOf,
  settle,
  type Workload,
  type WorkloadWorld,
} from './workload.ts'

const SCAN_RATIO = 0.04
const SEARCH_RATIO = 0.1
const HANG_UP_RATIO = 0.15
const HANG_UP_MS_MAX = 50
const ATTEMPTS = 3
const HALVES = ['a', 't'] as const
const HITS_MAX = 10
const SEARCHES_SETTLE_MS = 60_000
const POLL_MS = 300

export class SetWorkload implements Workload {
  readonly name = 'set'
  readonly clients = 4
  readonly #world: WorkloadWorld
  readonly #history = new ClientHistory<SetCall, SetAnswer>()
  readonly #violations: Violation[] = []
  #elements = 0
  acknowledged = 0

  constructor(world: WorkloadWorld) {
    this.#world = world
  }

  get operations(): readonly unknown[] {
    return this.#history.operations
  }

  prepare(): Promise<void> {
    return createTable(this.#world)
  }

  step(client: number): Promise<void> {
    const dice = this.#world.lab.random()
    if (dice < SCAN_RATIO) return this.#scan(`c${client}`).then(() => undefined)
    if (dice < SCAN_RATIO + SEARCH_RATIO) return this.#search(`c${client}`)
    return this.#add(client)
  }

  async readBack(): Promise<void> {
    const { lab, table } = this.#world
    await insist(lab, { ...scanOf(table), timeoutMs: 60_000 })
    const seen = await this.#scan('end')
    if (seen !== undefined) await this.#untilFound(seen.length * HALVES.length)
  }

  violations(): readonly Violation[] {
    return [...this.#violations, ...findSetViolations(this.#history.operations)]
  }

  async #add(client: number): Promise<void> {
    const { lab, table } = this.#world
    const element = `e${++this.#elements}`
    const operation = this.#history.invoke(`c${client}`, { kind: 'add', element })
    const document = { element, text: `sea ${element}` }
    const inserts = Object.fromEntries(HALVES.map((half) => [`${half}/${element}`, document]))
    const path = `/api/v1/tables/${table}/batch`
    const request = { method: 'POST', path, body: { inserts } } as const
    const hangs = lab.random() < HANG_UP_RATIO
    const { kind } = hangs
      ? await lab.ask({ ...request, hangUpMs: lab.between(1, HANG_UP_MS_MAX) })
      : await settle(lab, { ...request, idempotencyKey: `${table}-${element}` }, ATTEMPTS)
    if (kind === 'ok') operation.ok([])
    else operation[kind]()
    if (kind === 'ok') this.acknowledged += 1
  }

  /** The elements, unless the scan failed. */
  async #scan(client: string): Promise<readonly string[] | undefined> {
    const { lab, table } = this.#world
    const operation = this.#history.invoke(client, { kind: 'read' })
    const answer = await lab.ask({ ...scanOf(table), timeoutMs: 60_000 })
    if (answer.kind !== 'ok') {
      operation.fail()
      return undefined
    }
    const keys = linesOf(answer.text).map(({ key }) => String(key))
    const [first, second] = HALVES.map((half) => elementsOf(keys, half))
    const torn = new Set(first).symmetricDifference(new Set(second))
    for (const element of torn) {
      this.#violations.push({ rule: 'torn', description: `${client} sees half of ${element}` })
    }
    operation.ok(first ?? [])
    return first
  }

  /** Hits may be missing during faults. Those that are there have the word. */
  async #search(client: string): Promise<void> {
    const { lab } = this.#world
    const element = `e${1 + Math.floor(lab.random() * this.#elements)}`
    const answer = await this.#query(element)
    const wrong = answer?.hits.filter((id) => !HALVES.some((half) => id === `${half}/${element}`))
    for (const id of wrong ?? []) {
      this.#violations.push({ rule: 'hit', description: `${client} finds ${id} for ${element}` })
    }
  }

  async #untilFound(documents: number): Promise<void> {
    const deadlineMs = systemClock.monotonicMs() + SEARCHES_SETTLE_MS
    for (;;) {
      const answer = await this.#query('sea')
      if (answer?.total === documents && answer.error === undefined) return
      if (systemClock.monotonicMs() > deadlineMs) {
        const found = JSON.stringify(answer)
        const description = `${found} is found of ${documents} documents`
        this.#violations.push({ rule: 'search', description })
        return
      }
      await systemClock.sleep(POLL_MS)
    }
  }

  async #query(match: string): Promise<QueryAnswer | undefined> {
    const { lab, table } = this.#world
    const body = {
      full_text_search: { match, field: 'text' },
      limit: HITS_MAX,
      fields: ['element'],
    }
    const answer = await lab.ask({ method: 'POST', path: `/api/v1/tables/${table}/query`, body })
    return answer.kind === 'ok' ? queryAnswerOf(JSON.parse(answer.text)) : undefined
  }
}

interface QueryAnswer {
  readonly total: number
  readonly hits: readonly string[]
  readonly error: string | undefined
}

interface QueryBody {
  readonly hits: { readonly total: number; readonly hits: readonly { readonly _id: string }[] }
  readonly error?: string
}

function queryAnswerOf(
  body: QueryBody | { readonly responses: readonly QueryBody[] },
): QueryAnswer {
  const one = 'responses' in body ? body.responses[0]! : body
  return { total: one.hits.total, hits: one.hits.hits.map(({ _id }) => _id), error: one.error }
}

function scanOf(table: string) {
  return { method: 'POST', path: `/api/v1/tables/${table}/lookup`, body: {} } as const
}

function elementsOf(keys: readonly string[], half: string): readonly string[] {
  return keys.filter((key) => key.startsWith(`${half}/`)).map((key) => key.slice(half.length + 1))
}
