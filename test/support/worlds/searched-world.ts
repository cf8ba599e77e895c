// A replicated shard with a text index on each of its nodes: the shard in virtual time, the indexes in real threads.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { silentLog } from '../../../lib/log.ts'
import type { NodeId } from '../../../node/replication/core/configuration.ts'
import type { WriteOp } from '../../../node/shard/command/command.ts'
import { IndexEvents } from '../../../node/shard/following/index-events.ts'
import type { IndexDefinition } from '../../../node/index/host/index-definition.ts'
import type { IndexWorkerPool } from '../../../node/index/host/index-worker-pool.ts'
import { MemoryTableFields } from '../fakes/memory-table-fields.ts'
import { until } from '../until.ts'
import { ReplicatedWorld, type TestNode } from './replicated-world.ts'
import { openTestPool, settingsOf, textSearch } from './text-shard.ts'

/** In memory, so that a restart of a node builds it anew. */
const INDEX: IndexDefinition = {
  id: '0123456789abcdef',
  kind: 'text',
  name: 'words',
  memOnly: true,
}

/** What a node has for its index. */
interface Searching {
  /** While it is out of reach, the node's index stays behind: it lacks every document with a new field. */
  readonly fields: MemoryTableFields
  readonly events: IndexEvents
}

/** Three nodes; the first one leads. */
export class SearchedWorld implements AsyncDisposable {
  readonly world: ReplicatedWorld
  readonly #searching: ReadonlyMap<NodeId, Searching>
  readonly #pool: IndexWorkerPool
  readonly #directory: string

  private constructor(
    world: ReplicatedWorld,
    searching: ReadonlyMap<NodeId, Searching>,
    { pool, directory }: { readonly pool: IndexWorkerPool; readonly directory: string },
  ) {
    this.world = world
    this.#searching = searching
    this.#pool = pool
    this.#directory = directory
  }

  static async open(): Promise<SearchedWorld> {
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-searched-world-'))
    const pool = openTestPool()
    const searching = new Map<NodeId, Searching>()
    const partsOf = (node: NodeId) => {
      const own = { fields: new MemoryTableFields(), events: new IndexEvents() }
      searching.set(node, own)
      const root = path.join(directory, node)
      return { pool, root, fields: { of: () => own.fields }, log: silentLog, events: own.events }
    }
    const settings = settingsOf({ indexes: [INDEX] })
    const world = await ReplicatedWorld.open({ indexed: { settings, partsOf } })
    const opened = new SearchedWorld(world, searching, { pool, directory })
    await world.until(() => world.node('n1').isServing)
    for (const node of world.nodes) await opened.until(() => opened.#isServing(node))
    return opened
  }

  of(node: TestNode): Searching {
    return must(this.#searching.get(node.id), 'the parts of a node')
  }

  /** Resolves when the write is acknowledged. */
  async write(...ops: readonly WriteOp[]): Promise<void> {
    const { shard } = this.world.leader
    await this.when(shard.write({ checks: [], ops, ttl: undefined }))
  }

  /** Resolves when the node's store has everything that the leader has committed, and says so. */
  async followed(node: TestNode): Promise<void> {
    const { committedSequence } = this.world.leader.shard
    await this.until(() => node.shard.appliedSequence >= committedSequence)
  }

  /** Resolves when the node's index has everything that its replica has. */
  async indexed(node: TestNode): Promise<void> {
    await this.when(node.shard.waitForIndexes({ signal: new AbortController().signal }))
  }

  /** Lets virtual time pass, and the threads work, until the condition holds. */
  until(condition: () => boolean | Promise<boolean>): Promise<void> {
    return until(async () => {
      await this.world.step()
      return condition()
    })
  }

  /** Settles with the answer, while virtual time passes and the threads work. */
  async when<Answer>(answer: Promise<Answer>): Promise<Answer> {
    let isSettled = false
    const done = (): void => {
      isSettled = true
    }
    answer.then(done, done)
    await this.until(() => isSettled)
    return answer
  }

  async #isServing({ shard }: TestNode): Promise<boolean> {
    const asked = shard.searchHere('words', textSearch('x'), { ...this.limits, atLeast: 0 })
    return asked.then(
      () => true,
      () => false,
    )
  }

  /** The limits of a search that may take as long as it likes. */
  get limits() {
    return { signal: new AbortController().signal, deadlineMs: Infinity }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
    await this.#pool.close()
    await rm(this.#directory, { recursive: true, force: true })
  }
}
