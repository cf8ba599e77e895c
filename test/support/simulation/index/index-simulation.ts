// One shard with its indexes over crashes, in virtual time: the shard's log and store, the followers of its
// indexes, the hosts and engines of their workers, from the code that runs in production. Modelled are the disk
// of the store, the clock and the threads; index files are real, and what an ended process wrote of them stays.
//
// A history is a list of steps, each from a seed of its own. One client writes and asks, so that it knows at any time
// what a question has to find.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import { seededRandom } from '../../../../lib/random.ts'
import type { EngineFamilies } from '../../../../node/index/host/index-engine.ts'
import { openTextFamily } from '../../../../node/index/text/hosted/text-family.ts'
import { passUntil } from '../cluster/world-time.ts'
import { WorldTurns } from '../cluster/world-turns.ts'
import { Dice } from '../dice.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import { VirtualTime } from '../virtual-time.ts'
import { WorldFiles } from '../world-files.ts'
import { DocumentClient } from './document-client.ts'
import { STEPS, type Step, type StepKind } from './index-steps.ts'
import { SimulatedShard } from './simulated-shard.ts'

const STEPS_MAX = 40
/** In memory where that is possible: a rename on a disk takes longer than a step of an engine. */
const DIRECTORIES = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
/** After any fault the index answers within this time. */
const PATIENCE_MS = 300_000

export interface IndexSimulationOptions {
  readonly seed: number
  readonly steps?: number
  /** Which steps may be taken besides writing and asking; default: all. */
  readonly kinds?: readonly StepKind[]
}

export interface IndexSimulationResult {
  /** A digest of all events. Equal seeds have equal traces. */
  readonly trace: number
  /** Questions that were compared with the documents. */
  readonly compared: number
  readonly kills: number
  readonly virtualMs: number
}

/** Throws BrokenInvariant for an index that differs from its documents, or never answers again. */
export async function simulateIndexes(
  options: IndexSimulationOptions,
): Promise<IndexSimulationResult> {
  const turns = new WorldTurns()
  const files = new WorldFiles()
  const directory = mkdtempSync(path.join(DIRECTORIES, 'quarry-index-simulation-'))
  const giveFiles = files.take()
  const giveTurns = turns.take()
  try {
    return await new IndexSimulation(options, { turns, files, directory }).run()
  } finally {
    giveTurns()
    giveFiles()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Surroundings {
  readonly turns: WorldTurns
  readonly files: WorldFiles
  readonly directory: string
}

const FAMILIES: EngineFamilies = { text: openTextFamily }

class IndexSimulation {
  readonly #options: IndexSimulationOptions
  readonly #time: VirtualTime
  readonly #turns: WorldTurns
  readonly #files: WorldFiles
  readonly #shard: SimulatedShard
  readonly #client: DocumentClient
  readonly #dice: Dice
  #trace = 0
  #kills = 0

  constructor(options: IndexSimulationOptions, { turns, files, directory }: Surroundings) {
    const { seed } = options
    this.#options = options
    this.#turns = turns
    this.#files = files
    this.#time = new VirtualTime(seededRandom(seed))
    this.#dice = Dice.of(seed)
    const parts = {
      time: this.#time,
      files,
      directory,
      families: FAMILIES,
      seed: this.#dice.seed(),
    }
    this.#shard = new SimulatedShard(parts)
    this.#client = new DocumentClient(this.#shard, this.#dice.seed())
  }

  async run(): Promise<IndexSimulationResult> {
    const { steps = STEPS_MAX, kinds } = this.#options
    await this.#end(this.#shard.open(), 'the shard to open')
    const taken = Object.entries(STEPS).filter(
      ([kind, { isCalm }]) =>
        isCalm === true || kinds === undefined || kinds.some((one) => one === kind),
    )
    for (let i = 0; i < steps; i++) {
      const [kind, step] = must(this.#dice.pick(taken), 'a step')
      const dice = Dice.of(this.#dice.seed())
      this.#note(`${kind} ${this.#time.nowMs}`)
      await this.#take(step.run({ shard: this.#shard, client: this.#client, dice }), kind)
    }
    await this.#end(this.#client.compareAll(), 'every index to answer')
    this.#shard.kill()
    const { compared } = this.#client
    return { trace: this.#trace, compared, kills: this.#kills, virtualMs: this.#time.nowMs }
  }

  /** A step ends by itself, or its process ends at the moment or change that it names. */
  async #take(step: Step, kind: string): Promise<void> {
    const { endsProcessAfterMs, endsProcessAtChange } = step
    if (endsProcessAfterMs === undefined) return this.#end(step.done(), kind)
    let isOver = false
    if (endsProcessAtChange !== undefined) {
      this.#files.endAtChange(endsProcessAtChange, () => (isOver = true))
    }
    // Whatever it meets, its process ends first.
    void step.done().catch(() => undefined)
    await this.#pass(endsProcessAfterMs, () => isOver)
    this.#kills += 1
    await this.#restart(step.meanwhile)
  }

  /** The process ends; nothing of it happens any more when the next one begins. */
  async #restart(meanwhile: Step['meanwhile']): Promise<void> {
    this.#shard.kill()
    await this.#pass(1)
    this.#shard.beforeStart()
    meanwhile?.()
    await this.#end(this.#shard.open(), 'the shard to open again')
    await this.#end(this.#client.learnAfterCrash(), 'the documents to be read')
    this.#note(`restarted ${this.#time.nowMs}`)
  }

  async #end(work: Promise<void>, what: string): Promise<void> {
    let isOver = false
    const end = (): void => void (isOver = true)
    void work.then(end, end)
    if (!(await this.#pass(PATIENCE_MS, () => isOver))) {
      throw new BrokenInvariant(`liveness: waited for ${what}`)
    }
    await work
  }

  /** Answers whether it was enough before the time was over. */
  #pass(ms: number, isEnough?: () => boolean): Promise<boolean> {
    const world = { time: this.#time, turns: this.#turns }
    return passUntil(world, this.#time.nowMs + ms, isEnough)
  }

  #note(event: string): void {
    this.#trace = crc32(event, this.#trace)
  }
}
