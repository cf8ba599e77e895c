// What engines promise of their files and the disk below them.

import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { runAtOnce } from '../../lib/sliced.ts'
import type { DiskWork } from '../../node/index/files/disk-work.ts'
import type { IndexEngine } from '../../node/index/host/index-engine.ts'
import { errorOf } from '../support/error-of.ts'
import { failureOf } from '../support/failure-of.ts'
import { HeldDiskWork } from '../support/fakes/held-disk-work.ts'
import { openFilesBelow } from '../support/open-files.ts'
import {
  jsonChange,
  remove,
  type EngineBench,
  type EngineUnderTest,
  type OpenedEngine,
} from '../support/worlds/opened-engine.ts'

/** Called in the suite of an engine, whose tests have the bench. */
export function describeEngineFiles(tested: EngineUnderTest, bench: EngineBench): void {
  const put = tested.change ?? jsonChange

  /** One that exists, so that its opening writes nothing. */
  function openOn(disk: DiskWork): OpenedEngine {
    {
      using made = bench.open()
      made.apply(1, [put('a', 'tide')])
      runAtOnce(made.engine.flush(1))
    }
    return bench.open('index', disk)
  }

  it('reopens at its checkpoint after a crash, without later changes', () => {
    const first = bench.open()
    first.apply(1, [put('a', 'tide'), put('b', 'tide')])
    runAtOnce(first.engine.flush(5))
    const flushed = first.engine.checkpoint
    first.apply(6, [put('c', 'tide'), remove('a')])
    const before = first.engine.checkpoint
    first.engine.close()

    using second = bench.open()

    expect([flushed, before, second.engine.checkpoint]).to.deep.equal([5, 5, 5])
    expect(second.find('tide')).to.deep.equal(['a', 'b'])
  })

  it('is searched and written while the disk syncs, and moves its checkpoint afterwards', async () => {
    const disk = new HeldDiskWork()
    using index = openOn(disk)
    index.apply(2, [put('b', 'tide')])
    const expected = ['a', 'b']
    const flushing = index.engine.flush(2)
    let waits = 0
    for (let step = flushing.next(); step.done !== true; step = flushing.next()) {
      if (step.value === undefined) continue
      expect(index.engine.checkpoint).to.equal(1)
      waits += 1
      expected.push(`c${waits}`)
      index.apply(2 + waits, [put(`c${waits}`, 'tide')])
      expect(index.find('tide')).to.have.members(expected)
      // A merge may be under way beside it, which waits in the end, too.
      while (index.engine.maintain()) expect(index.find('tide')).to.have.members(expected)
      expect(index.engine.checkpoint).to.equal(1)
      while (disk.heldCount > 0) disk.release()
      await step.value
    }

    expect(waits).to.be.above(2)
    expect(index.engine.checkpoint).to.be.at.least(2)
    expect(index.find('tide')).to.have.members(expected)
  })

  it('flushes nothing more when it is closed while the disk syncs, and leaves no file open', async () => {
    const disk = new HeldDiskWork()
    const index = openOn(disk)
    index.apply(2, [put('b', 'tide')])
    const flushing = index.engine.flush(2)
    while (flushing.next().value === undefined);

    index.engine.close()
    while (disk.heldCount > 0) disk.release()
    await Promise.resolve()
    const failure = await errorOf(() => {
      while (flushing.next().done !== true) if (disk.heldCount > 0) disk.release()
    })
    using reopened = bench.open()

    expect(failure).to.include({ code: 'UNAVAILABLE' })
    expect(disk.openCount).to.equal(0)
    expect(reopened.engine.checkpoint).to.be.oneOf([1, 2])
  })

  it('leaves no file open, at whatever step of its maintenance it is closed', async () => {
    {
      using index = bench.open('made')
      for (let sequence = 1; sequence <= 4; sequence += 1) {
        index.apply(sequence, [put(`k${sequence}`, 'tide'), put('same', 'tide')])
        runAtOnce(index.engine.flush(sequence))
      }
    }
    for (let steps = 0; ; steps += 1) {
      const directory = `closed-${steps}`
      cpSync(path.join(bench.root, 'made'), path.join(bench.root, directory), { recursive: true })
      const disk = new HeldDiskWork()
      const index = bench.open(directory, disk)
      const isMore = await maintainOn(disk, index.engine, steps)

      index.engine.close()
      while (disk.heldCount > 0) disk.release()

      expect(openFilesBelow(bench.root), `after ${steps} steps`).to.deep.equal([])
      if (isMore) continue
      if (tested.merges) expect(steps).to.be.above(5)
      return
    }
  })

  it('fails to flush when a sync fails, and opens at a checkpoint again', async () => {
    for (let failing = 0; ; failing += 1) {
      rmSync(path.join(bench.root, 'index'), { recursive: true, force: true })
      const disk = new HeldDiskWork()
      const index = openOn(disk)
      index.apply(2, [put('b', 'tide')])
      const failure = await failureOf(flushFailing(index.engine, disk, failing))
      const { checkpoint } = index.engine
      index.engine.close()
      using reopened = bench.open()

      expect(reopened.engine.checkpoint).to.be.within(checkpoint, 2)
      expect(reopened.find('tide')).to.have.length(reopened.engine.checkpoint)
      expect(disk.openCount).to.equal(0)
      if (failure === undefined) {
        expect(failing).to.be.above(2)
        return
      }
      expect(failure).to.have.property('message', 'the disk lost it')
      expect(checkpoint).to.equal(1)
    }
  })

  it('takes snapshots that open at the checkpoint', () => {
    using index = bench.open()
    index.apply(1, [put('a', 'tide')])
    runAtOnce(index.engine.flush(1))
    index.apply(2, [put('b', 'tide')])
    const copy = path.join(bench.root, 'copy')
    mkdirSync(copy)

    const { checkpoint, files } = index.engine.snapshot(copy)
    runAtOnce(index.engine.flush(2))
    while (index.engine.maintain());
    using copied = bench.open('copy')

    expect(checkpoint).to.equal(1)
    expect(files.map(({ name: file }) => file)).to.have.members(readdirSync(copy))
    for (const { name: file, bytes } of files) {
      expect(statSync(path.join(copy, file)).size).to.equal(bytes)
    }
    expect(copied.engine.checkpoint).to.equal(1)
    expect(copied.find('tide')).to.deep.equal(['a'])
  })

  it('refuses damaged files', async () => {
    const directory = path.join(bench.root, 'index')
    const first = bench.open()
    first.apply(1, [put('a', 'tide')])
    runAtOnce(first.engine.flush(1))
    first.engine.close()
    const vital = readdirSync(directory).filter((file) => tested.isVital(file))
    for (const file of vital) writeFileSync(path.join(directory, file), 'damage')

    const refusal = await errorOf(() => bench.open())

    expect(vital).to.not.deep.equal([])
    expect(refusal).to.include({ code: 'CORRUPTION' })
  })

  it('writes no files and takes no snapshots when it is in memory alone', async () => {
    using index = bench.openInMemory()
    index.apply(4, [put('a', 'tide')])
    runAtOnce(index.engine.flush(4))

    expect(index.find('tide')).to.deep.equal(['a'])
    expect(index.engine.report().bytesOnDisk).to.equal(0)
    expect(readdirSync(bench.root)).to.deep.equal([])
    expect(await errorOf(() => index.engine.snapshot(bench.root))).to.include({
      code: 'INVALID_ARGUMENT',
    })
  })
}

/** The sync with this number fails, from 0. */
async function flushFailing(
  engine: IndexEngine,
  disk: HeldDiskWork,
  failing: number,
): Promise<void> {
  const flushing = engine.flush(2)
  let count = 0
  for (let step = flushing.next(); step.done !== true; step = flushing.next()) {
    if (step.value === undefined) continue
    if (count === failing) disk.fail(new Error('the disk lost it'))
    else disk.release()
    count += 1
    await step.value
  }
}

/** So many steps, between which the disk does what it is asked. Answers whether there are more. */
async function maintainOn(
  disk: HeldDiskWork,
  engine: IndexEngine,
  steps: number,
): Promise<boolean> {
  for (let left = steps; left > 0; left -= 1) {
    if (engine.maintain()) continue
    if (disk.heldCount === 0) return false
    disk.release()
    await new Promise(setImmediate)
  }
  return true
}
