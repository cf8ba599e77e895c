// An index of vectors whose machine loses power at any moment of writing segments, graphs, deletions and manifests, while
// syncs are done late and in any order: it opens at its last checkpoint, with exactly the documents of that.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom, type Random } from '../../lib/random.ts'
import type { DenseIndexSettings } from '../../node/embedding/settings.ts'
import type { DocumentChange } from '../../node/index/host/document-batch.ts'
import { defaultRowsIndexLimits } from '../../node/index/rows/row-segments.ts'
import { CrashingFiles, type Survival } from '../support/fakes/crashing-files.ts'
import { HeldDiskWork } from '../support/fakes/held-disk-work.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describing } from '../support/worlds/text-world.ts'
import { putVectors, removeDocument } from '../support/worlds/vector-documents.ts'
import { VectorWorld } from '../support/worlds/vector-world.ts'

const { seed } = parseTestSettings(process.env)
const SURVIVALS: readonly Survival[] = ['everything', 'only what was synced', 'chance']
const SETTINGS: DenseIndexSettings = {
  dimension: 4,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'f16',
}
const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    ...defaultRowsIndexLimits.mergePolicy,
    graphRowsMin: 8,
    settledGraphRowsMin: 8,
    flatCountMax: 2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}
const CHANGES = 160
const KEYS = 30
/** Steps that fail in other runs of the test. */
const STRIDE_MAX = 8
const ORIGIN = new Float32Array(4)

interface Ran {
  readonly files: CrashingFiles
  /** The last change that the index was given. */
  readonly applied: number
  /** As the index told it after the last step that was done. */
  readonly checkpoint: number
  /** Syncs that were asked for while another one was under way. */
  readonly crossed: number
}

describe(`an index of vectors under power failures (QUARRY_TEST_SEED=${seed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'vector-crash-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  /** An index without documents. */
  function emptied(): string {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    openHere(directory)[Symbol.dispose]()
    return directory
  }

  it('opens at a checkpoint with its documents, whichever step was the last', async () => {
    const random = seededRandom(seed)
    const script = new VectorScript(random)
    const { files, checkpoint } = await run(script, emptied())
    const { steps } = files
    let crossed = 0
    expect(steps).to.be.above(200)
    expect(checkpoint).to.equal(CHANGES)
    for (let failsAt = 1; failsAt <= steps; failsAt += 1 + Math.floor(random() * STRIDE_MAX)) {
      const survival = SURVIVALS[Math.floor(random() * SURVIVALS.length)] ?? 'chance'
      const ran = await run(script, emptied(), failsAt)
      crossed += ran.crossed
      ran.files.settle(survival, random)

      describing({ failsAt, steps, survival }, () => expectRecovery(script, directory, ran))
    }

    expect(crossed).to.be.above(0)
  }).timeout(300_000)
})

/** A random write or deletion for each sequence, and what is there after it. */
class VectorScript {
  readonly changes: readonly DocumentChange[]
  /** By sequence, from 0. */
  readonly expected: readonly (readonly string[])[]

  constructor(random: Random) {
    const live = new Map<string, number>()
    const expected: (readonly string[])[] = [[]]
    this.expected = expected
    this.changes = Array.from({ length: CHANGES }, (_, i) => {
      const [sequence, n] = [i + 1, Math.floor(random() * KEYS)]
      const key = `k${n}`
      const isDeleted = random() < 0.2
      if (isDeleted) live.delete(key)
      else live.set(key, sequence)
      expected.push([...live].map(([name, at]) => `${name} ${at}`).toSorted())
      if (isDeleted) return removeDocument(key)
      return putVectors({ key, ordinal: n, rows: [{ vector: vectorOf(sequence) }] })
    })
  }
}

/** The script, with flushes, merges and syncs at random moments; before the given step of the disk, if any, power fails. */
async function run(script: VectorScript, directory: string, failsAt = Infinity): Promise<Ran> {
  const random = seededRandom(seed + (failsAt === Infinity ? 0 : failsAt))
  const files = new CrashingFiles(directory, failsAt)
  const disk = new HeldDiskWork()
  let world: VectorWorld | undefined
  let [applied, checkpoint, crossed] = [0, 0, 0]
  await files.runAsync(async () => {
    world = new VectorWorld({ settings: SETTINGS, limits: LIMITS, directory, disk })
    const { engine } = world
    const isSettled = (): boolean => {
      return applied === CHANGES && checkpoint === CHANGES && disk.heldCount === 0
    }
    while (!isSettled() || engine.maintain()) {
      const chance = random()
      if (chance < 0.05 && applied < CHANGES) {
        applied += 1
        world.apply(...script.changes.slice(applied - 1, applied))
      } else if (chance < 0.12) {
        void engine.makeRoom()
      } else if (chance < 0.9) {
        engine.maintain()
      } else if (disk.heldCount > 0) {
        disk.release(Math.floor(random() * disk.heldCount))
      }
      if (disk.heldCount > 1) crossed += 1
      ;({ checkpoint } = engine)
      await afterPromises()
    }
  })
  files.run(() => world?.engine.close())
  while (disk.heldCount > 0) disk.fail(new Error('the power is off'))
  expect(disk.openCount).to.equal(0)
  return { files, applied, checkpoint, crossed }
}

/** What settled promises have called is done. */
async function afterPromises(): Promise<void> {
  for (let i = 0; i < 4; i += 1) await Promise.resolve()
}

function expectRecovery(script: VectorScript, directory: string, ran: Ran): void {
  using world = openHere(directory)
  const { checkpoint } = world.engine
  expect(checkpoint).to.be.within(ran.checkpoint, ran.applied)
  expect(namesIn(world)).to.deep.equal(script.expected[checkpoint])

  for (const change of script.changes.slice(checkpoint)) world.apply(change)
  world.settle()

  expect(namesIn(world)).to.deep.equal(script.expected[CHANGES])
  const listed = /^(?:manifest|\d+\.(?:vectors|rows|graph|lists)|\d+-\d+\.deleted)$/
  expect(readdirSync(directory).filter((name) => !listed.test(name))).to.deep.equal([])
}

function openHere(directory: string): VectorWorld {
  return new VectorWorld({ settings: SETTINGS, limits: LIMITS, directory })
}

function namesIn(world: VectorWorld): readonly string[] {
  const { hits } = world.nearest(ORIGIN, { limit: 1000 })
  return hits
    .map(({ key, distance }) => `${Buffer.from(key).toString()} ${Math.sqrt(distance)}`)
    .toSorted()
}

function vectorOf(first: number): Float32Array {
  return Float32Array.of(first, 0, 0, 0)
}
