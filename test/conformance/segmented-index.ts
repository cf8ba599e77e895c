// What every kind of segmented index promises (node/index/segments/segment-kind.ts), driven by random histories. The names
// SI1 to SI6 are the invariants of node/index/segments/segmented-index.ts.

import { cpSync, mkdirSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { isServiceError } from '../../lib/errors.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { packBatch } from '../../node/index/host/document-batch.ts'
import { serviceErrorOf } from '../../node/index/worker/service-error-of.ts'
import { errorOf } from '../support/error-of.ts'
import { FullDisk } from '../support/fakes/full-disk.ts'
import { HeldDiskWork } from '../support/fakes/held-disk-work.ts'
import { openFilesBelow } from '../support/open-files.ts'
import { EngineBench, jsonChange, type OpenedEngine } from '../support/worlds/opened-engine.ts'
import { listedFiles, SegmentedHistory } from '../support/worlds/segmented-history.ts'
import type { SegmentedUnderTest } from '../support/worlds/segmented-kinds.ts'
import { describing } from '../support/worlds/text-world.ts'

export interface SegmentedSuiteOptions {
  readonly seed: number
}

export function describeSegmentedIndex(
  name: string,
  tested: SegmentedUnderTest,
  { seed }: SegmentedSuiteOptions,
): void {
  describe(`${name} in a segmented index (QUARRY_TEST_SEED=${seed})`, () => {
    const bench = new EngineBench(tested)
    const put = tested.change ?? jsonChange
    const historyOf = (count: number): SegmentedHistory =>
      new SegmentedHistory(tested, seededRandom(seed), count)
    const images = (): string => path.join(bench.root, 'image')
    beforeEach(() => bench.begin())
    afterEach(() => bench.end())

    /** What is on the disk now, in a directory of its own. */
    function openImage(): OpenedEngine {
      rmSync(images(), { recursive: true, force: true })
      cpSync(path.join(bench.root, 'index'), images(), { recursive: true })
      return bench.open('image')
    }

    /** A directory with segments, deletions, and all that merges leave. */
    function fill(history: SegmentedHistory): void {
      using index = bench.open()
      live(index, history, seededRandom(seed))
      runAtOnce(index.engine.flush(history.count))
    }

    it('holds at a crash what it held at its checkpoint (SI1, SI2), and then what is applied again', () => {
      const history = historyOf(200)
      const random = seededRandom(seed + 1)
      using index = bench.open()
      const expectImage = (sequence: number): void => {
        using image = openImage()
        expect(image.engine.checkpoint).to.equal(index.engine.checkpoint)
        history.expectHolds(image, image.engine.checkpoint)
        history.replay(image, sequence)
        history.expectHolds(image, sequence)
      }

      live(index, history, random, (sequence) => {
        if (random() < 0.4) expectImage(sequence)
      })
      runAtOnce(index.engine.flush(history.count))
      expectImage(history.count)

      expect(index.engine.checkpoint).to.equal(history.count)
    }).timeout(120_000)

    for (const where of ['on files', 'in memory'] as const) {
      it(`is searched and written alike between any two steps, ${where} (SI3, SI6)`, () => {
        const history = historyOf(400)
        using index = where === 'on files' ? bench.open() : bench.openInMemory()

        live(index, history, seededRandom(seed + 2), (sequence) => {
          history.expectHolds(index, sequence)
        })
        while (index.engine.maintain()) history.expectHolds(index, history.count)

        history.expectHolds(index, history.count)
      }).timeout(120_000)
    }

    it('has a writer flush by itself when memory is full while the disk syncs', async () => {
      {
        using made = bench.open()
        made.apply(1, [put('k1', 'tide')])
        runAtOnce(made.engine.flush(1))
      }
      const disk = new HeldDiskWork()
      using index = bench.open('index', disk)
      let [waits, most] = [0, 0]
      for (let n = 2; n <= 120; n += 1) {
        const applying = index.engine.apply(packBatch(n, [put(`k${n}`, 'tide')]), () => undefined)
        for (let step = applying.next(); step.done !== true; step = applying.next()) {
          if (step.value === undefined) continue
          waits += 1
          while (disk.heldCount > 0) disk.release()
          await step.value
        }
        most = Math.max(most, index.engine.unflushedBytes)
      }

      expect(waits).to.be.above(0)
      expect(most).to.be.within(tested.memoryBytesMax, tested.memoryBytesMax * 3)
    })

    it('links files that open at the checkpoint that it says, at any step', () => {
      const history = historyOf(60)
      let links = 0
      using index = bench.open()

      live(index, history, seededRandom(seed + 3), () => {
        rmSync(images(), { recursive: true, force: true })
        mkdirSync(images())
        const { checkpoint } = index.engine.snapshot(images())
        using linked = bench.open('image')
        expect(linked.engine.checkpoint).to.equal(checkpoint)
        history.expectHolds(linked, checkpoint)
        links += 1
      })

      expect(links).to.be.above(60)
    }).timeout(120_000)

    it('leaves no file open at whatever step it is closed, and opens at its checkpoint (SI5)', () => {
      const history = historyOf(40)
      for (let steps = 0, isMore = true; isMore; steps += 1 + (steps >>> 4)) {
        rmSync(path.join(bench.root, 'index'), { recursive: true, force: true })
        const index = bench.open()
        let left = steps
        isMore = false
        try {
          live(index, history, seededRandom(seed + 4), () => {
            left -= 1
            if (left < 0) throw new Enough()
          })
        } catch (error) {
          if (!(error instanceof Enough)) throw error
          isMore = true
        }
        const { checkpoint } = index.engine

        index.engine.close()

        describing({ steps }, () => expect(openFilesBelow(bench.root)).to.deep.equal([]))
        using reopened = bench.open()
        expect(reopened.engine.checkpoint).to.equal(checkpoint)
        history.expectHolds(reopened, checkpoint)
        const listed = listedFiles(reopened, images())
        expect(readdirSync(path.join(bench.root, 'index'))).to.have.members(listed)
      }
    }).timeout(120_000)

    for (const isClosed of [false, true]) {
      const when = isClosed ? 'at the next opening if it was closed' : 'when the search has ended'
      it(`removes files of merged segments that a search reads ${when} (SI5)`, () => {
        const index = bench.open()
        const files = (): readonly string[] => readdirSync(path.join(bench.root, 'index'))
        const batch = Array.from({ length: SEARCHED }, (_, n) => put(`k${n}`, 'tide'))
        for (let sequence = 1; sequence <= 2; sequence += 1) {
          index.apply(
            sequence,
            batch.slice((sequence - 1) * (SEARCHED / 2), (sequence * SEARCHED) / 2),
          )
          runAtOnce(index.engine.flush(sequence))
        }
        const searched = files().filter((file) => /^\d/.test(file))
        const search = index.engine.answer(tested.find('tide'))
        const isEnded = search.next().done
        while (index.engine.maintain());
        for (let sequence = 3; sequence <= 4; sequence += 1) {
          index.apply(sequence, batch)
          runAtOnce(index.engine.flush(sequence))
        }
        while (index.engine.maintain());
        const whileSearched = files()

        if (isClosed) index.engine.close()
        search.return(undefined)
        const left = files()
        if (!isClosed) index.engine.close()
        using reopened = bench.open()

        expect(isEnded).to.equal(false)
        expect(whileSearched).to.include.members([...searched])
        const stale = (names: readonly string[]) => names.filter((one) => searched.includes(one))
        expect(stale(left)).to.have.members(isClosed ? [...searched] : [])
        expect(stale(files())).to.deep.equal([])
        expect(reopened.find('tide')).to.have.length(SEARCHED)
      })
    }

    it('refuses files that are missing or cut short', async () => {
      fill(historyOf(150))
      const files = readdirSync(path.join(bench.root, 'index'))
      for (const file of files) {
        for (const damage of [(at: string) => rmSync(at), (at: string) => truncateSync(at, 3)]) {
          const refusal = await errorOf(() => {
            rmSync(images(), { recursive: true, force: true })
            cpSync(path.join(bench.root, 'index'), images(), { recursive: true })
            damage(path.join(images(), file))
            using image = bench.open('image')
            image.find('tide')
          })

          expect(refusal, file).to.satisfy(isServiceError)
          expect(refusal, file).to.include({ code: 'CORRUPTION' })
        }
      }
      expect(files.some((file) => file.endsWith('.deleted'))).to.equal(true)
    })

    it('fails to flush on a full disk with DISK_FULL, and opens at its checkpoint', () => {
      const history = historyOf(30)
      for (let failsAt = 1, isFailing = true; isFailing; failsAt += 1) {
        rmSync(path.join(bench.root, 'index'), { recursive: true, force: true })
        const index = bench.open()
        for (let n = 1; n <= 20; n += 1) history.apply(index, n)
        runAtOnce(index.engine.flush(20))
        for (let n = 21; n <= 30; n += 1) history.apply(index, n)
        const disk = new FullDisk(failsAt)

        const failure = failureIn(() => disk.run(() => runAtOnce(index.engine.flush(30))))
        index.engine.close()
        const opened = openFilesBelow(bench.root)
        using reopened = bench.open()

        isFailing = disk.hasFailed
        if (isFailing) expect(serviceErrorOf(failure)).to.include({ code: 'DISK_FULL' })
        expect(opened).to.deep.equal([])
        history.expectHolds(reopened, reopened.engine.checkpoint)
        history.replay(reopened, 30)
        history.expectHolds(reopened, 30)
      }
    })
  })
}

/** A search for as many documents takes several steps. */
const SEARCHED = 900

/** A history with flushes and steps of maintenance at random moments. `onStep` hears the last sequence after each step. */
function live(
  index: OpenedEngine,
  history: SegmentedHistory,
  random: Random,
  onStep: (sequence: number) => void = () => undefined,
): void {
  const { engine } = index
  for (let sequence = 1; sequence <= history.count; sequence += 1) {
    history.apply(index, sequence)
    onStep(sequence)
    if (random() < 0.1) {
      void engine.makeRoom()
      onStep(sequence)
    }
    for (let left = Math.floor(random() * 4); left > 0 && engine.maintain(); left -= 1) {
      onStep(sequence)
    }
  }
}

/** Ends a history at the step at which the index is closed. */
class Enough extends Error {}

function failureIn(action: () => void): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}
