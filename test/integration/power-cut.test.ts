// The power fails at every moment at which the disk has changed. Found again must be: whatever was
// acknowledged, and of everything else all or nothing.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import type { JournalDirectory, SegmentFile } from '../../node/journal/journal-directory.ts'
import { FaultyDisk } from '../support/fakes/faulty-disk.ts'
import { failureOf } from '../support/failure-of.ts'
import {
  checkAfterPowerCut,
  PowerCutLoad,
  SHARD_NAMES,
  type Expected,
} from '../support/loads/power-cut-load.ts'
import { ShardWorld } from '../support/worlds/shard-world.ts'
import { openTestJournal } from '../support/worlds/test-journal.ts'

const IMAGES_MIN = 1000
const OPERATIONS = 40
/** Small, so that a run turns over several segments. */
const SEGMENT_BYTES = 16 * 1024

interface CutImage {
  readonly disk: FaultyDisk
  readonly expected: Expected
}

interface RunOptions {
  readonly seed: number
  /** Puts something between the journal and its directory. */
  readonly wrap?: (directory: JournalDirectory) => JournalDirectory
}

/** Runs a load, and calls `visit` with the disk as a power failure at each moment would leave it. */
async function imagesOf(
  { seed, wrap = (directory) => directory }: RunOptions,
  visit: (image: CutImage) => Promise<void>,
): Promise<number> {
  const disk = new FaultyDisk(seed)
  const journal = await openTestJournal({
    directory: wrap(disk.directory),
    segmentBytes: SEGMENT_BYTES,
    keptBytes: 2 * SEGMENT_BYTES,
  })
  const images: CutImage[] = []
  {
    await using world = await ShardWorld.open(SHARD_NAMES, { stores: disk, journal })
    const load = new PowerCutLoad(world, seededRandom(seed))
    disk.onMoment(() => {
      const image = disk.image(seed * 10_000 + images.length)
      images.push({ disk: image, expected: load.expected() })
    })
    await load.run(OPERATIONS)
    await world.finisher.idle()
  }
  for (const image of images) await visit(image)
  return images.length
}

async function checkImage({ disk, expected }: CutImage): Promise<void> {
  await using world = await ShardWorld.open(SHARD_NAMES, { stores: disk })
  await checkAfterPowerCut(world, expected)
}

/** The first complaint about an image of a run over a disk that breaks a promise. */
async function complaintOf(wrap: RunOptions['wrap']): Promise<unknown> {
  for (let seed = 1; seed <= 20; seed++) {
    const options = wrap === undefined ? { seed } : { seed, wrap }
    const complaint = await failureOf(imagesOf(options, checkImage))
    if (complaint !== undefined) return complaint
  }
  return undefined
}

describe('a power failure at any moment', () => {
  it('loses no acknowledged write, and leaves no write half done', async function () {
    this.timeout(300_000)
    let images = 0
    for (let seed = 1; images < IMAGES_MIN; seed++) {
      images += await imagesOf({ seed }, async (image) => {
        try {
          await checkImage(image)
        } catch (error) {
          throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
        }
      })
    }
    expect(images).to.be.at.least(IMAGES_MIN)
  })

  it('reveals a journal that answers before its write is durable', async function () {
    this.timeout(240_000)
    const complaint = await complaintOf((directory) => new HastyDirectory(directory))

    expect(String(complaint)).to.match(/expected|all or nothing/)
  })

  it('reveals a journal that does not sync the directory of a new segment', async function () {
    this.timeout(240_000)
    const complaint = await complaintOf((directory) => new ForgetfulDirectory(directory))

    expect(String(complaint)).to.match(/expected|all or nothing|missing|gone/)
  })
})

/** Passes calls on; its children leave something out. */
class PassingDirectory implements JournalDirectory {
  readonly inner: JournalDirectory

  constructor(inner: JournalDirectory) {
    this.inner = inner
  }

  list = (): Promise<readonly string[]> => this.inner.list()
  open(name: string): Promise<SegmentFile> {
    return this.inner.open(name)
  }

  allocate = (name: string, bytes: number): Promise<void> => this.inner.allocate(name, bytes)
  rename = (from: string, to: string): Promise<void> => this.inner.rename(from, to)
  remove = (name: string): Promise<void> => this.inner.remove(name)
  sync(): Promise<void> {
    return this.inner.sync()
  }
}

class ForgetfulDirectory extends PassingDirectory {
  override async sync(): Promise<void> {}
}

class HastyDirectory extends PassingDirectory {
  override async open(name: string): Promise<SegmentFile> {
    const file = await this.inner.open(name)
    let tail: Promise<void> = Promise.resolve()
    return {
      write: async (parts, position) => {
        const bytes = Buffer.concat(parts)
        tail = tail.then(() => nextTurn()).then(() => file.write([bytes], position))
      },
      read: (position, length) => file.read(position, length),
      size: () => file.size(),
      sync: () => file.sync(),
      close: () => tail.then(() => file.close()),
    }
  }
}
