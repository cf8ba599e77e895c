// A power cut, proved for the real process by the trace of its system calls: of all that it wrote, only
// what its own calls made durable is on the disk, or that and chance parts of the rest.
//
// Needs root and strace. Three lives over one data directory: killed under load, stopped in order, killed.

import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import { loadProgram, withImage } from '../support/worlds/image-store.ts'
import { connectionId, PowerTraceLoad } from '../support/loads/power-trace-load.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { answerOf, readTrace, tracing } from '../support/processes/syscall-trace.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { TracedDisk, type Unfinished } from '../support/processes/traced-disk.ts'

const { seed, powerImages, powerRoot } = parseTestSettings(process.env)
const ROOT = path.resolve(powerRoot)
/** Images are many and short-lived. */
const SCRATCH = '/dev/shm'
/** Complaints after which there is nothing more to learn. */
const COMPLAINTS_MAX = 10
const DATA = 'data'
/** Where one log ends and another begins, writes of the first one were lost once: looked at closely. */
const NEW_LOG = /\.(?:log|journal)", .*O_CREAT/
const FOCUS_MOMENTS = 10
const FOCUS_SHARE = 0.3
const LIVES = [
  { steps: 300, end: 'kill' },
  { steps: 200, end: 'stop' },
  { steps: 100, end: 'kill' },
] as const
// The pool of threads alone reaches files: no ring takes writes that the trace would not show.
const ENV = { UV_USE_IO_URING: '0' }

describe('a power cut under the traced store', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-power-'))
  })

  afterEach(async () => {
    await rm(folder, { recursive: true })
  })

  it(`loses no answered write, and leaves no write half done, seed ${seed}`, async () => {
    const load = new PowerTraceLoad(seededRandom(seed))
    const { lives, moments } = await runLives(folder, load)

    const random = seededRandom(seed + 1)
    const program = await loadProgram(ROOT)
    const complaints: string[] = []
    let images = 0
    let focused = 0
    await walk({ folder, lives }, async ({ disk, answered, life, what }) => {
      focused = what === 'a new log' ? FOCUS_MOMENTS : focused - 1
      const share = focused > 0 ? FOCUS_SHARE : powerImages / moments
      if (random() >= share || complaints.length === COMPLAINTS_MAX) return
      const chance = random() < 0.5 ? undefined : random
      images += 1
      const save = (target: string): string => {
        disk.save(target, chance)
        return path.join(target, DATA)
      }
      try {
        await withImage({ program, scratch: SCRATCH, save }, (client) =>
          load.check(client, { answered, life }),
        )
      } catch (error) {
        const kind = chance === undefined ? 'only what was synced' : 'with chance'
        complaints.push(`image ${images} (life ${life}, ${what}, ${kind}): ${String(error)}`)
      }
    })

    for (const complaint of complaints) process.stdout.write(`      ${complaint}\n`)
    process.stdout.write(`      ${moments} moments, ${images} images, seed ${seed}\n`)
    expect(images).to.be.at.least(Math.min(powerImages, moments) / 2)
    expect(complaints).to.deep.equal([])
  })
})

interface TracedLife {
  readonly trace: string
  /** How many bytes of each call were done that was under way when the life ended. */
  readonly lengths: readonly number[]
}

interface TracedLives {
  readonly lives: readonly TracedLife[]
  readonly moments: number
}

async function runLives(folder: string, load: PowerTraceLoad): Promise<TracedLives> {
  const lives: TracedLife[] = []
  const disk = new TracedDisk(folder)
  let moments = 0
  for (const [index, { steps, end }] of LIVES.entries()) {
    const trace = path.join(folder, `trace-${index + 1}`)
    const dataDir = path.join(folder, DATA)
    const bin = path.join(ROOT, 'bin/quarry')
    const under = tracing(trace)
    await using store = await StoreProcess.start({ dataDir, bin, env: ENV, under })
    load.begin()
    if (index === 0) await load.createTables(store.api)
    await load.run(store.api, steps, () => store[end]())
    await store.ended
    for await (const _ of momentsOf(trace, disk)) moments += 1
    const lengths = await Promise.all(disk.unfinished.map(lengthDone))
    disk.endProcess(lengths)
    await expectSameFiles(folder, disk)
    lives.push({ trace, lengths })
  }
  return { lives, moments }
}

async function lengthDone(unfinished: Unfinished): Promise<number> {
  if (unfinished.kind === 'names') {
    const { appears, vanishes } = unfinished
    const isDone = vanishes === undefined ? existsSync(appears ?? '') : !existsSync(vanishes)
    return isDone ? 1 : 0
  }
  const { file, at, bytes } = unfinished
  const found = (await readFile(file)).subarray(at, at + bytes.length)
  const different = bytes.findIndex((byte, index) => byte !== found[index])
  return different < 0 ? bytes.length : different
}

/** What has just changed: the disk, or what was promised of it. */
type Change =
  | { readonly what: 'an answer'; readonly clientPort: number }
  | { readonly what: 'a write begins' }
  | { readonly what: 'a change is durable' }
  | { readonly what: 'a new log' }

/** Follows one life in the model. */
async function* momentsOf(trace: string, disk: TracedDisk): AsyncGenerator<Change> {
  for await (const { phase, call } of readTrace(trace)) {
    if (phase === 'ends') {
      if (disk.end(call)) yield { what: 'a change is durable' }
      if (call.name === 'openat' && NEW_LOG.test(call.args)) yield { what: 'a new log' }
      continue
    }
    if (disk.begin(call)) yield { what: 'a write begins' }
    const answer = answerOf(call)
    if (answer === undefined || answer.status >= 300) continue
    yield { what: 'an answer', clientPort: answer.clientPort }
  }
}

interface SoakMoment {
  readonly disk: TracedDisk
  readonly answered: ReadonlySet<string>
  readonly life: number
  readonly what: Change['what']
}

/** Calls `visit` at every moment of all lives. */
async function walk(
  { folder, lives }: { readonly folder: string; readonly lives: readonly TracedLife[] },
  visit: (moment: SoakMoment) => Promise<void>,
): Promise<void> {
  const disk = new TracedDisk(folder)
  const answered = new Set<string>()
  for (const [index, { trace, lengths }] of lives.entries()) {
    const life = index + 1
    for await (const change of momentsOf(trace, disk)) {
      if (change.what === 'an answer') answered.add(connectionId(life, change.clientPort))
      await visit({ disk, answered, life, what: change.what })
    }
    disk.endProcess(lengths)
  }
}

/** Proves the model: its files are those of the real disk, byte for byte. */
async function expectSameFiles(folder: string, disk: TracedDisk): Promise<void> {
  let files = 0
  for (const [name, bytes] of disk.files()) {
    const copy = path.join(folder, 'copy')
    bytes.save(copy)
    const [model, real] = [await readFile(copy), await readFile(path.join(folder, name))]
    const at = model.findIndex((byte, index) => byte !== real[index])
    expect(
      [model.length, at],
      `the model of ${name}: its length, and where it differs`,
    ).to.deep.equal([real.length, -1])
    files += 1
  }
  expect(files).to.equal(await countFiles(path.join(folder, DATA)))
}

async function countFiles(directory: string): Promise<number> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true })
  return found.filter((each) => each.isFile()).length
}
