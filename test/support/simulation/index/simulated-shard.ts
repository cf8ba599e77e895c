import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { must } from '../../../../lib/assert.ts'
import { silentLog } from '../../../../lib/log.ts'
import { HybridClock, TIMESTAMP_ZERO, type Timestamp } from '../../../../node/clock/hybrid-clock.ts'
import type { EngineFamilies } from '../../../../node/index/host/index-engine.ts'
import { IndexWorkerPool } from '../../../../node/index/host/index-worker-pool.ts'
import { INDEX_KINDS } from '../../../../node/index/kinds/index-kinds.ts'
import type { Journal } from '../../../../node/journal/journal.ts'
import type { TableSettings } from '../../../../node/shard/command/table-settings.ts'
import { IndexEvents } from '../../../../node/shard/following/index-events.ts'
import { LocalShard } from '../../../../node/shard/local-shard.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import { FaultyDisk } from '../../fakes/faulty-disk.ts'
import { MemoryTableFields } from '../../fakes/memory-table-fields.ts'
import { routesTo } from '../../worlds/routes.ts'
import { openTestJournal } from '../../worlds/test-journal.ts'
import { settingsOf } from '../../worlds/text-shard.ts'
import { NodeClock } from '../cluster/node-clock.ts'
import { Dice } from '../dice.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { WorldFiles } from '../world-files.ts'
import { SimulatedIndexWorker } from './simulated-index-worker.ts'

const ID = parseShardId('00000000000000aa')
const STORE = 'shard'
const THREADS = 2
/** So little that indexes flush after some documents, and merge after some flushes. */
const INDEX_MEMORY_BYTES = 32 * 1024
/** So few that a walk through the table takes a while. */
const PAGE_ENTRIES_MAX = 5
const DISK_MS = [0.1, 3] as const

/** What a simulated shard shares with its simulation. */
export interface ShardSurroundings {
  readonly time: VirtualTime
  readonly files: WorldFiles
  readonly directory: string
  readonly families: EngineFamilies
  readonly seed: number
}

/** The process of a shard while it runs. */
interface ShardLife {
  readonly clock: NodeClock
  readonly pool: IndexWorkerPool
  /** Each of these is there as soon as the start has come so far. */
  journal: Journal | undefined
  shard: LocalShard | undefined
}

/** A shard whose process ends and starts again, over one disk and one directory of indexes. */
export class SimulatedShard {
  #settings: TableSettings = settingsOf({})
  readonly #in: ShardSurroundings
  readonly #dice: Dice
  readonly #disk: FaultyDisk
  readonly #fields = new MemoryTableFields()
  readonly #workers = new Set<SimulatedIndexWorker>()
  #bound: Timestamp = TIMESTAMP_ZERO
  #life: ShardLife | undefined

  constructor(surroundings: ShardSurroundings) {
    this.#in = surroundings
    this.#dice = Dice.of(surroundings.seed)
    const pace = (): Promise<void> =>
      new Promise((resolve) => surroundings.time.after(this.#dice.between(...DISK_MS), resolve))
    this.#disk = new FaultyDisk(this.#dice.seed(), { pace, pageEntriesMax: PAGE_ENTRIES_MAX })
  }

  get shard(): LocalShard {
    return must(this.#life?.shard, 'an open shard')
  }

  /** What the table's record says; a start takes it as well. */
  get settings(): TableSettings {
    return this.#settings
  }

  /** As a change of the table's record. */
  async set(settings: TableSettings): Promise<void> {
    this.#settings = settings
    await this.shard.led.setSettings(settings)
  }

  get clock(): NodeClock {
    return must(this.#life, 'a process').clock
  }

  async open(): Promise<void> {
    const { time, directory } = this.#in
    const clock = new NodeClock(time, {})
    const pool = this.#openPool(clock)
    const life: ShardLife = { clock, pool, journal: undefined, shard: undefined }
    this.#life = life
    life.journal = await openTestJournal({ disk: this.#disk, clock })
    life.shard = await LocalShard.open({
      id: ID,
      range: { start: Buffer.alloc(0), end: undefined },
      store: await this.#disk.open(STORE),
      journal: life.journal,
      hybridClock: await this.#openClock(clock),
      clock,
      router: routesTo(() => undefined),
      settings: this.#settings,
      indexes: {
        pool: life.pool,
        root: path.join(directory, 'indexes'),
        fields: { of: () => this.#fields },
        log: silentLog,
        events: new IndexEvents(),
      },
    })
  }

  /** The process ends where it stands, and what the store had not synced is lost. */
  kill(): void {
    const life = this.#life
    if (life === undefined) return
    this.#life = undefined
    this.#in.files.isSilent = true
    life.clock.end()
    for (const worker of this.#workers) worker.end()
    this.#workers.clear()
    this.#disk.restart()
  }

  /** To be called when nothing of the process before happens any more. */
  beforeStart(): void {
    this.#in.files.isSilent = false
  }

  /** Ends in order. */
  async close(): Promise<void> {
    const life = must(this.#life, 'a process')
    await life.shard?.close()
    await life.journal?.close()
    await life.pool.close()
    this.#life = undefined
  }

  /** An index worker ends by itself; false if none runs. */
  endWorker(): boolean {
    const worker = this.#dice.pick([...this.#workers])
    worker?.fail(new Error('the simulated worker ends'))
    if (worker !== undefined) this.#workers.delete(worker)
    return worker !== undefined
  }

  /** Flips a byte in a file of an index; false if there is none. Only while no process runs. */
  flipByte(dice: Dice): boolean {
    const root = path.join(this.#in.directory, 'indexes', ID)
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(root, name))
      .filter((file) => statSync(file).isFile() && statSync(file).size > 0)
      .toSorted()
    const file = dice.pick(files)
    if (file === undefined) return false
    const bytes = readFileSync(file)
    const at = Math.floor(dice.between(0, bytes.length))
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(dice.between(0, 8)))
    writeFileSync(file, bytes)
    return true
  }

  #openPool(clock: NodeClock): IndexWorkerPool {
    const { families } = this.#in
    return new IndexWorkerPool({
      clock,
      log: silentLog,
      kinds: INDEX_KINDS,
      threads: THREADS,
      memoryBytesMax: INDEX_MEMORY_BYTES,
      entry: (settings, events) => {
        const dice = Dice.of(this.#dice.seed())
        const worker = new SimulatedIndexWorker(settings, events, { families, clock, dice })
        this.#workers.add(worker)
        return worker
      },
    })
  }

  #openClock(clock: NodeClock): Promise<HybridClock> {
    return HybridClock.open(clock, {
      load: async () => this.#bound,
      save: async (bound) => void (this.#bound = bound),
    })
  }
}
