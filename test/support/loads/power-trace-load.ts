// Writes of every kind to a traced store, and what may be found of them on a disk after a power
// failure: of each step all or nothing, and all of what was answered by then.
//
// Documents form groups. A step of a group writes its number into all of them, or deletes them all; the
// next step is sent when the one before was answered, or its process has died.

import { expect } from 'chai'
import type { Random } from '../../../lib/random.ts'
import { expectIndexAgrees } from '../models/index-agreement.ts'
import { countTo, FOUR_SHARDS, pick } from './load.ts'
import { sendAlone, type LoneRequest } from '../servers/lone-request.ts'
import type { StoreClient } from '../servers/store-client.ts'

interface Place {
  readonly table: string
  readonly key: string
}

/** How a group is written. */
type Kind = 'batch' | 'transaction' | 'increment'

interface Step {
  readonly number: number
  /** Each time that it was sent, the connection that it was sent on. */
  readonly connections: string[]
  /** The store's life in which it was sent last. */
  life: number
}

interface Group {
  readonly name: string
  readonly kind: Kind
  readonly places: readonly Place[]
  readonly fillerBytes: number
  readonly steps: Step[]
}

/** What the trace says of the moment of a power failure. */
export interface Moment {
  /** Connections whose requests were answered with success, see `connectionId`. */
  readonly answered: ReadonlySet<string>
  readonly life: number
}

/** One connection carries one request. A port may come again in another life. */
export function connectionId(life: number, port: number): string {
  return `${life}/${port}`
}

export const TABLES = ['spread', 'other'] as const
const DELETE_EVERY = 5
const WRITERS = 8
/** Long ones fill segments of the journal and logs of LevelDB; their text is cheap to trace. */
const LONG_BYTES = 1_000_000
const NAMES = {
  single: { kind: 'batch', keys: ['spread a'], fillerBytes: 0 },
  batch: { kind: 'batch', keys: ['spread a', 'spread b', 'spread c'], fillerBytes: 0 },
  shards: { kind: 'batch', keys: ['spread a', 'spread h', 'spread o', 'spread u'], fillerBytes: 0 },
  tables: {
    kind: 'transaction',
    keys: ['spread b', 'spread i', 'spread p', 'spread v', 'other x'],
    fillerBytes: 300,
  },
  counter: { kind: 'increment', keys: ['spread d', 'spread w'], fillerBytes: 0 },
  long: { kind: 'transaction', keys: ['spread e', 'other y'], fillerBytes: LONG_BYTES },
} as const

export class PowerTraceLoad {
  readonly #random: Random
  readonly #groups: readonly Group[]
  readonly #created = new Map<string, string>()
  readonly #connections = new Set<string>()
  #life = 0

  constructor(random: Random) {
    this.#random = random
    this.#groups = Object.entries(NAMES).flatMap(([name, { kind, keys, fillerBytes }]) =>
      countTo(fillerBytes > 1000 ? 1 : 3).map((index) => ({
        name: `${name}-${index}`,
        kind,
        fillerBytes,
        places: keys.map((place) => {
          const [table = '', prefix = ''] = place.split(' ')
          return { table, key: `${prefix}/${name}-${index}` }
        }),
        steps: [],
      })),
    )
  }

  async createTables(api: string): Promise<void> {
    for (const table of TABLES) {
      const status = await sendAlone({
        url: `${api}/api/v1/tables/${table}`,
        body: table === 'spread' ? FOUR_SHARDS : {},
        onPort: (port) => this.#created.set(table, this.#connection(port)),
      })
      expect(status, table).to.equal(201)
    }
  }

  /** A new process serves. */
  begin(): void {
    this.#life += 1
  }

  /** Calls `end` when so many steps were answered, and resolves when the store takes no more. */
  async run(api: string, steps: number, end: () => Promise<unknown>): Promise<void> {
    let done = 0
    let ending: Promise<unknown> | undefined
    const write = async (own: readonly Group[]): Promise<void> => {
      for (;;) {
        const status = await this.#step(api, pick(this.#random, own))
        if (status !== 201) {
          expect(ending, `a step was answered ${status}`).to.not.equal(undefined)
          return
        }
        done += 1
        if (done === steps) ending = end()
      }
    }
    await Promise.all(
      countTo(WRITERS).map((writer) =>
        write(this.#groups.filter((_, at) => at % WRITERS === writer)),
      ),
    )
    await ending
  }

  async #step(api: string, group: Group): Promise<number | undefined> {
    const last = group.steps.at(-1)
    // An increment whose answer was lost is sent again, and counts once.
    const isRepeated = group.kind === 'increment' && last !== undefined && last.life < this.#life
    const step = isRepeated ? last : { number: (last?.number ?? 0) + 1, connections: [], life: 0 }
    step.life = this.#life
    if (!isRepeated) group.steps.push(step)
    const onPort = (port: number): void => void step.connections.push(this.#connection(port))
    return sendAlone({ ...requestOf(api, group, step.number), onPort })
  }

  #connection(port: number): string {
    const id = connectionId(this.#life, port)
    expect(this.#connections.has(id), `port ${port} is used a second time`).to.equal(false)
    this.#connections.add(id)
    return id
  }

  /** Throws unless a store that was opened over the disk of that moment holds what it must. */
  async check(client: StoreClient, moment: Moment): Promise<void> {
    const { text } = await client.succeed('GET', '/api/v1/tables')
    const tables: readonly { readonly name: string }[] = JSON.parse(text)
    const there = new Set(tables.map(({ name }) => name))
    for (const [table, connection] of this.#created) {
      if (moment.answered.has(connection)) expect(there.has(table), `table ${table}`).to.equal(true)
    }
    for (const group of this.#groups) await checkGroup({ client, group, there, moment })
    for (const table of there) await expectIndexAgrees(client, { table, field: 'n' })
  }
}

interface GroupCheck {
  readonly client: StoreClient
  readonly group: Group
  readonly there: ReadonlySet<string>
  readonly moment: Moment
}

async function checkGroup({ client, group, there, moment }: GroupCheck): Promise<void> {
  const { places, name } = group
  const seen = await Promise.all(
    places.map(async ({ table, key }) => {
      if (!there.has(table)) return undefined
      return (await client.lookup(table, key)).document?.['n']
    }),
  )
  expect(new Set(seen).size, `all or nothing of ${name}: ${seen.join(', ')}`).to.equal(1)
  const allowed = allowedSteps(group, moment)
  expect(
    allowed.map((step) => valueOf(group, step)),
    `what is found of ${name}`,
  ).to.include(seen[0])
  await checkRepeat(client, group, moment)
}

/** A retry of an answered increment changes nothing. */
async function checkRepeat(client: StoreClient, group: Group, moment: Moment): Promise<void> {
  const done = group.kind === 'increment' ? lastAnswered(group, moment) : 0
  const step = group.steps[done - 1]
  if (step === undefined || isUnderWay(group, moment)) return
  const status = await sendAlone({
    ...requestOf(client.url, group, step.number),
    onPort: () => undefined,
  })
  expect(status, `retry of ${group.name}`).to.equal(201)
  for (const { table, key } of group.places) {
    const { document } = await client.lookup(table, key)
    expect(document?.['n'], `${key} after a retry`).to.equal(done)
  }
}

function lastAnswered({ steps }: Group, { answered }: Moment): number {
  return (
    steps.findLast(({ connections }) => connections.some((connection) => answered.has(connection)))
      ?.number ?? 0
  )
}

function isUnderWay(group: Group, moment: Moment): boolean {
  return allowedSteps(group, moment).length > 1
}

/** The last one that was answered, and those that were sent since then. */
function allowedSteps(group: Group, moment: Moment): readonly number[] {
  const floor = lastAnswered(group, moment)
  const allowed = [floor]
  for (const { number, life } of group.steps.slice(floor)) {
    // Of a repeated step, the life in which it was sent first is not known: at worst it is allowed.
    if (life > moment.life && group.kind !== 'increment') break
    allowed.push(number)
    // Within one life the next step waits for this one.
    if (life === moment.life) break
  }
  return allowed
}

function valueOf({ kind }: Group, step: number): number | undefined {
  if (kind === 'increment') return step === 0 ? undefined : step
  return step === 0 || step % DELETE_EVERY === 0 ? undefined : step
}

function requestOf(api: string, group: Group, number: number): Omit<LoneRequest, 'onPort'> {
  const { kind, places, name, fillerBytes } = group
  const tables = new Set(places.map(({ table }) => table))
  const bodies = Object.fromEntries(
    [...tables].map((table) => {
      const keys = places.filter((place) => place.table === table).map(({ key }) => key)
      return [table, writesOf({ kind, number, keys, fillerBytes })]
    }),
  )
  if (kind === 'transaction') return { url: `${api}/api/v1/batch`, body: { tables: bodies } }
  const [[table, body] = ['', {}]] = Object.entries(bodies)
  const url = `${api}/api/v1/tables/${table}/batch`
  if (kind === 'increment') return { url, body, idempotencyKey: `${name}-${number}` }
  return { url, body }
}

interface Writes {
  readonly kind: Kind
  readonly number: number
  readonly keys: readonly string[]
  readonly fillerBytes: number
}

function writesOf({ kind, number, keys, fillerBytes }: Writes): unknown {
  if (kind === 'increment') {
    const operations = [{ op: '$inc', path: 'n', value: 1 }]
    return { transforms: keys.map((key) => ({ key, operations, upsert: true })) }
  }
  if (number % DELETE_EVERY === 0) return { deletes: keys }
  const filler = 'x'.repeat(fillerBytes)
  return { inserts: Object.fromEntries(keys.map((key) => [key, { n: number, filler }])) }
}
