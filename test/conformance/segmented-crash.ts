// An index whose machine loses power at any moment of writing segments, deletions and manifests, while syncs are done late
// and in any order: it opens at its last checkpoint, with exactly the documents of that.

import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import { runAtOnce, type Paced } from '../../lib/sliced.ts'
import { packBatch } from '../../node/index/host/document-batch.ts'
import { CrashingFiles, type Survival } from '../support/fakes/crashing-files.ts'
import { HeldDiskWork } from '../support/fakes/held-disk-work.ts'
import {
  EngineBench,
  jsonChange,
  remove,
  type OpenedEngine,
} from '../support/worlds/opened-engine.ts'
import { listedFiles, SegmentedHistory } from '../support/worlds/segmented-history.ts'
import type { SegmentedUnderTest } from '../support/worlds/segmented-kinds.ts'
import { describing } from '../support/worlds/text-world.ts'

const SURVIVALS: readonly Survival[] = ['everything', 'only what was synced', 'chance']
const CHANGES = 100
/** Steps that fail in other runs of the test. */
const STRIDE_MAX = 12

interface Ran {
  readonly files: CrashingFiles
  /** The last change that the index was given. */
  readonly applied: number
  /** As the index told it after the last step that was done. */
  readonly checkpoint: number
  /** Syncs that were asked for while another one was under way. */
  readonly crossed: number
}

export function describeSegmentedCrash(
  name: string,
  tested: SegmentedUnderTest,
  { seed }: { readonly seed: number },
): void {
  describe(`${name} under power failures (QUARRY_TEST_SEED=${seed})`, () => {
    const bench = new EngineBench(tested)
    const directory = (): string => path.join(bench.root, 'index')
    beforeEach(() => bench.begin())
    afterEach(() => bench.end())

    it('opens at a checkpoint with its documents, whichever step was the last', async () => {
      const random = seededRandom(seed)
      const history = new SegmentedHistory(tested, random, CHANGES)
      const { files, checkpoint } = await run(history, Infinity)
      const { steps } = files
      let crossed = 0
      expect(steps).to.be.above(150)
      expect(checkpoint).to.equal(CHANGES)
      for (let failsAt = 1; failsAt <= steps; failsAt += 1 + Math.floor(random() * STRIDE_MAX)) {
        const survival = SURVIVALS[Math.floor(random() * SURVIVALS.length)] ?? 'chance'
        const ran = await run(history, failsAt)
        crossed += ran.crossed
        ran.files.settle(survival, random)

        describing({ failsAt, steps, survival }, () => expectRecovery(history, ran))
      }

      expect(crossed).to.be.above(0)
    }).timeout(300_000)

    /** Makes an index without documents, which knows the fields that documents have. */
    function empty(): void {
      rmSync(directory(), { recursive: true, force: true })
      mkdirSync(directory())
      using made = bench.open()
      made.apply(0, [(tested.change ?? jsonChange)('k0', 'tide')])
      made.apply(0, [remove('k0')])
      runAtOnce(made.engine.flush(0))
      while (made.engine.maintain());
    }

    /** Flushes, merges and syncs come at random moments; before the given step of the disk power fails. */
    async function run(history: SegmentedHistory, failsAt: number): Promise<Ran> {
      empty()
      const random = seededRandom(seed + (failsAt === Infinity ? 0 : failsAt))
      const files = new CrashingFiles(directory(), failsAt)
      const disk = new HeldDiskWork()
      const releaseOne = (): void => {
        if (disk.heldCount > 1) crossed += 1
        if (disk.heldCount > 0) disk.release(Math.floor(random() * disk.heldCount))
      }
      let index: OpenedEngine | undefined
      let [applied, checkpoint, crossed] = [0, 0, 0]
      await files.runAsync(async () => {
        index = bench.open('index', disk)
        const { engine } = index
        const isSettled = (): boolean => {
          return applied === CHANGES && checkpoint === CHANGES && disk.heldCount === 0
        }
        while (!isSettled() || engine.maintain()) {
          const chance = random()
          if (chance < 0.1 && applied < CHANGES) {
            applied += 1
            const batch = packBatch(applied, history.changes.slice(applied - 1, applied))
            await applyWhile(
              engine.apply(batch, () => undefined),
              releaseOne,
            )
          } else if (chance < 0.15) {
            void engine.makeRoom()
          } else if (chance < 0.9) {
            engine.maintain()
          } else {
            releaseOne()
          }
          ;({ checkpoint } = engine)
          await afterPromises()
        }
      })
      files.run(() => index?.engine.close())
      while (disk.heldCount > 0) disk.fail(new Error('the power is off'))
      expect(disk.openCount).to.equal(0)
      return { files, applied, checkpoint, crossed }
    }

    function expectRecovery(history: SegmentedHistory, ran: Ran): void {
      using index = bench.open()
      const { checkpoint } = index.engine
      expect(checkpoint).to.be.within(ran.checkpoint, ran.applied)
      history.expectHolds(index, checkpoint)

      history.replay(index, CHANGES)
      runAtOnce(index.engine.flush(CHANGES))
      while (index.engine.maintain());

      history.expectHolds(index, CHANGES)
      expect(readdirSync(directory())).to.have.members(
        listedFiles(index, path.join(bench.root, 'links')),
      )
    }
  })
}

/** Each step of writing that waits for the disk comes after one more sync is done. */
async function applyWhile(applying: Paced<unknown>, releaseOne: () => void): Promise<void> {
  for (const until of applying) {
    if (until === undefined) continue
    releaseOne()
    await afterPromises()
  }
}

/** What settled promises have called is done. */
async function afterPromises(): Promise<void> {
  for (let i = 0; i < 4; i += 1) await Promise.resolve()
}
