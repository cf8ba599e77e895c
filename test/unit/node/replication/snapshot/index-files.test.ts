import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { systemClock } from '../../../../../lib/clock.ts'
import type { Log } from '../../../../../lib/log.ts'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { HybridClock } from '../../../../../node/clock/hybrid-clock.ts'
import { unpackAnswer } from '../../../../../node/index/text/search/packed-answer.ts'
import { NO_SETTINGS } from '../../../../../node/shard/command/table-settings.ts'
import { IndexEvents } from '../../../../../node/shard/following/index-events.ts'
import { Replica } from '../../../../../node/shard/replica.ts'
import { snapshotReplicaOf } from '../../../../../node/shard/replica-snapshot.ts'
import { parseShardId } from '../../../../../node/shard/shard-id.ts'
import type { Journal } from '../../../../../node/journal/journal.ts'
import type { KvStore } from '../../../../../node/storage/kv-store.ts'
import { MemoryTableFields } from '../../../../support/fakes/memory-table-fields.ts'
import { ReplicaSource } from '../../../../support/worlds/replica-source.ts'
import { routesTo } from '../../../../support/worlds/routes.ts'
import { memoryBound } from '../../../../support/worlds/shard-world.ts'
import { LOG, SnapshotWorld } from '../../../../support/worlds/snapshot-world.ts'
import { openTestJournal } from '../../../../support/worlds/test-journal.ts'
import { openTestPool, textOp, textSearch } from '../../../../support/worlds/text-shard.ts'
import { FIRST_PAGE } from '../../../../../node/replication/snapshot/snapshot-messages.ts'

const WAIT_MS = 60_000
const INDEXES = [
  { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false },
  { id: '0123456789abcdef', kind: 'text', name: 'fleeting', memOnly: true },
] as const
const never = new AbortController().signal

/** A node's replica with text indexes, and what its log says. */
class IndexedReplica implements AsyncDisposable {
  readonly messages: string[] = []
  readonly #pool = openTestPool()
  readonly #root: string
  readonly #fields: MemoryTableFields
  readonly #journal: Journal
  #replica: Replica | undefined

  constructor(root: string, fields: MemoryTableFields, journal: Journal) {
    this.#root = root
    this.#fields = fields
    this.#journal = journal
  }

  get replica(): Replica {
    if (this.#replica === undefined) throw new TypeError('the replica is closed')
    return this.#replica
  }

  async open(store: KvStore): Promise<void> {
    const take: Log['info'] = (message, about) => {
      this.messages.push(`${String(about?.['index'])}: ${message}`)
    }
    const log: Log = { debug: take, info: take, warn: take, error: take }
    const clock = systemClock
    this.#replica = await Replica.open({
      id: parseShardId(LOG),
      range: { start: Buffer.alloc(0), end: undefined },
      store,
      journal: this.#journal,
      hybridClock: await HybridClock.open(clock, memoryBound),
      clock,
      router: routesTo(() => undefined),
      settings: { ...NO_SETTINGS, tableId: LOG, tableName: 'books', indexes: INDEXES },
      indexes: {
        pool: this.#pool,
        root: this.#root,
        fields: { of: () => this.#fields },
        log,
        events: new IndexEvents(),
      },
    })
  }

  async write(from: number, to: number): Promise<void> {
    const ops = Array.from({ length: to - from }, (_, at) => textOp(`k${from + at}`, 'a tide'))
    const { replica } = this
    await replica.propose({ kind: 'write', checks: [], ops, ttl: undefined })
    await replica.log.settled()
    await replica.indexes?.waitFor(replica.appliedSequence, AbortSignal.timeout(WAIT_MS))
  }

  async find(words: string): Promise<number> {
    const index = await this.replica.indexes?.get('words')
    const { appliedSequence } = this.replica
    await index?.waitFor(appliedSequence, AbortSignal.timeout(WAIT_MS))
    const deadlineMs = systemClock.monotonicMs() + WAIT_MS
    const limits = { signal: never, deadlineMs, atLeast: 0 }
    const answer = await index?.search(textSearch(words), limits)
    return answer === undefined ? 0 : runAtOnce(unpackAnswer(answer)).hits.length
  }

  async close(): Promise<void> {
    await this.#replica?.close('keep')
    this.#replica = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await this.#pool.close()
  }
}

describe('the files of indexes in a snapshot', () => {
  it('spare a new replica the building, and the log brings what came after their checkpoint', async () => {
    await using world = await SnapshotWorld.open()
    const fields = new MemoryTableFields()
    const oldRoot = path.join(world.directory, 'old indexes')
    await using old = new IndexedReplica(oldRoot, fields, await openTestJournal())
    await old.open(await world.stores.open('old'))
    await old.write(0, 200)
    await old.close() // flushes
    await old.open(await world.stores.open('old'))
    await old.write(200, 300)
    world.replicas.set(LOG, snapshotReplicaOf(old.replica))
    const source = await world.source()
    const arrivals = await world.arrivals()
    const header = await source.open('reader', { logId: LOG, atLeast: 2 })
    const names = header.files.map(({ directory, name }) => `${directory}/${name}`)
    expect(names).to.include.members(['words-v0/manifest', 'words-v0/mapping'])
    const target = await arrivals.begin(LOG, header)
    const wanted = { id: header.id, after: FIRST_PAGE }
    for await (const page of source.pages('reader', wanted, never)) await target.take(page)
    await target.finish()
    const { position } = await arrivals.complete(LOG, header.position)
    const journal = await openTestJournal({ mayMark: true })
    await new ReplicaSource(journal, LOG).restart(position)

    await arrivals.swap(LOG)
    await using made = new IndexedReplica(world.indexRoot, fields, journal)
    await made.open(await world.stores.open(LOG))

    expect(await made.find('tide')).to.equal(300)
    expect(made.messages.filter((message) => message.startsWith('words')).join()).to.not.include(
      'built',
    )
    expect(await readdir(path.join(world.indexRoot, LOG))).to.deep.equal(['words-v0'])
  })
})
