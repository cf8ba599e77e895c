// A text index whose process is killed, or whose machine loses power, at any moment of writing
// segments, deletions and manifests, and of removing files: it opens at its last checkpoint, and the
// batches that come after make it whole.

import { spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../lib/clock.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import type { TextIndex } from '../../node/index/text/engine/text-index.ts'
import { TextEngine } from '../../node/index/text/hosted/text-engine.ts'
import { readMapping } from '../../node/index/text/mapping/saved-mapping.ts'
import { nameOf, type TableField } from '../../node/schema/table-field.ts'
import { CrashingFiles, type Survival } from '../support/fakes/crashing-files.ts'
import { applyAlone } from '../support/worlds/apply-alone.ts'
import { countTo } from '../support/loads/load.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { openTiny, takeStep, TextScript } from '../support/loads/text-script.ts'
import { describing } from '../support/worlds/text-world.ts'

const { seed } = parseTestSettings(process.env)
const CHILD = path.join(import.meta.dirname, '../support/loads/text-crash-child.ts')
const SURVIVALS: readonly Survival[] = ['everything', 'only what was synced', 'chance']
const SCRIPT_STEPS = 24
const SCRIPTS = 3
const KILLS_PER_SCRIPT = 4
const KILL_AFTER_MS_MAX = 100
/** More than a child gets done before it is killed, mostly. */
const CHILD_STEPS = 3000
const HELD_BATCHES = 6
const OUR_FILE = /^(?:manifest|\d+\.segment|\d+-\d+\.deleted)$/

interface Ran {
  readonly files: CrashingFiles
  /** The batches that the index was given, the one under way included. */
  readonly applied: number
  /** As the index told it after the last step that was done. */
  readonly checkpoint: number
}

describe(`a text index under power failures (QUARRY_TEST_SEED=${seed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-crash-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  function emptied(): string {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    return directory
  }

  it('opens at a checkpoint and catches up, whichever step was the last', () => {
    const random = seededRandom(seed)
    const script = new TextScript({ seed, steps: SCRIPT_STEPS })
    const { steps } = run(script, emptied()).files
    expect(steps).to.be.greaterThan(15)
    for (let failsAt = 1; failsAt <= steps + 1; failsAt += 1) {
      for (const survival of [SURVIVALS[failsAt % SURVIVALS.length]!, 'chance'] as const) {
        describing({ failsAt, steps, survival }, () => {
          const ran = run(script, emptied(), failsAt)
          ran.files.settle(survival, random)
          expectRecovery(script, directory, ran)
        })
      }
    }
  }).timeout(300_000)

  it('survives another failure while it opens and catches up', () => {
    const random = seededRandom(seed)
    const script = new TextScript({ seed: seed + 1, steps: SCRIPT_STEPS })
    const { steps } = run(script, emptied()).files
    for (let failsAt = 1; failsAt <= steps; failsAt += 5) {
      describing({ failsAt, steps }, () => {
        const ran = run(script, emptied(), failsAt)
        ran.files.settle('chance', random)
        const again = recoverCrashing(script, random, { directory, ran })
        expectRecovery(script, directory, again)
      })
    }
  }).timeout(300_000)

  it('never contains a document whose field decisions are lost', () => {
    const random = seededRandom(seed)
    const { steps } = runHeld(emptied()).files
    for (let failsAt = 1; failsAt <= steps + 1; failsAt += 1) {
      for (const survival of SURVIVALS) {
        describing({ failsAt, steps, survival }, () => {
          const { files, checkpoint } = runHeld(emptied(), failsAt)
          files.settle(survival, random)

          const saved = readMapping(directory)?.fields ?? []
          const { index } = openHeld(directory, TABLE_FIELDS)

          expect(index.checkpoint).to.be.at.least(checkpoint)
          expect(index.stats().documents).to.equal(index.checkpoint)
          const covered = countTo(index.checkpoint).map((at) => fieldOf(at + 1))
          expect(saved.map(nameOf)).to.include.members(covered)
          index.close()
        })
      }
    }
  }).timeout(240_000)

  it('opens and catches up after its process was killed', async () => {
    const random = seededRandom(seed)
    for (let at = 0; at < SCRIPTS; at += 1) {
      const script = new TextScript({ seed: seed + at, steps: CHILD_STEPS })
      emptied()
      let applied = 0
      for (let kill = 0; kill < KILLS_PER_SCRIPT; kill += 1) {
        const args = [directory, String(seed + at), String(CHILD_STEPS)]
        const said = await killedChild(args, random() * KILL_AFTER_MS_MAX)
        applied = Math.max(applied, said.applied)
        const index = openTiny(directory)
        expect(index.checkpoint).to.be.at.least(said.checkpoint)
        script.expectHolds(index, index.checkpoint)
        script.replay(index, applied)
        script.expectHolds(index, Math.max(applied, index.checkpoint))
        index.close()
      }
    }
  }).timeout(240_000)
})

/** The script from its beginning; before the given step of the disk, if any, power fails. */
function run(script: TextScript, directory: string, failsAt = Infinity): Ran {
  const files = new CrashingFiles(directory, failsAt)
  let index: TextIndex | undefined
  let [applied, checkpoint] = [0, 0]
  files.run(() => {
    index = openTiny(directory)
    for (const step of script.steps) {
      if (step.kind === 'write') applied = step.batch.sequence
      takeStep(index, step)
      ;({ checkpoint } = index)
    }
  })
  files.run(() => index?.close())
  return { files, applied, checkpoint }
}

/** Opens, is given the rest and flushes, until power fails once more. */
function recoverCrashing(
  script: TextScript,
  random: Random,
  { directory, ran }: { readonly directory: string; readonly ran: Ran },
): Ran {
  const files = new CrashingFiles(directory, 1 + Math.floor(random() * 12))
  let index: TextIndex | undefined
  let { checkpoint } = ran
  files.run(() => {
    index = openTiny(directory)
    script.replay(index, ran.applied)
    index.flush()
    ;({ checkpoint } = index)
    while (index.maintain(1));
  })
  files.run(() => index?.close())
  files.settle('chance', random)
  return { ...ran, files, checkpoint }
}

function expectRecovery(script: TextScript, directory: string, ran: Ran): void {
  const index = openTiny(directory)
  expect(index.checkpoint).to.be.within(ran.checkpoint, ran.applied)
  script.expectHolds(index, index.checkpoint)
  script.replay(index, ran.applied)
  script.expectHolds(index, ran.applied)
  index.flush()
  index.close()

  const again = openTiny(directory)
  expect(again.checkpoint).to.equal(ran.applied)
  script.expectHolds(again, ran.applied)
  again.close()
  const names = readdirSync(directory)
  expect(names.filter((name) => !OUR_FILE.test(name))).to.deep.equal([])
}

/** One document a batch, each with a field of its own, and a flush now and then. */
function runHeld(directory: string, failsAt = Infinity): Ran {
  const files = new CrashingFiles(directory, failsAt)
  let held: TextEngine | undefined
  let [applied, checkpoint] = [0, 0]
  files.run(() => {
    held = openHeld(directory, [])
    while (applied < HELD_BATCHES) {
      applied += 1
      const json = Buffer.from(JSON.stringify({ [fieldOf(applied)]: applied }))
      const key = Buffer.from(`k${applied}`)
      applyAlone(held, applied, [{ key, json, expiresAtMs: 0 }])
      if (applied % 2 === 0) held.index.flush()
      ;({ checkpoint } = held.index)
    }
  })
  files.run(() => held?.index.close())
  return { files, applied, checkpoint }
}

function fieldOf(sequence: number): string {
  return `f${sequence}`
}

/** What the table knows, whose list does not crash. */
const TABLE_FIELDS: readonly TableField[] = countTo(HELD_BATCHES).map((at) => {
  return { path: [fieldOf(at + 1)], kind: 'number', documentType: undefined }
})

const DEFINITION = { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false } as const

function openHeld(directory: string, fields: readonly TableField[]): TextEngine {
  const source = { kind: 'given', schema: undefined } as const
  return TextEngine.open(
    { definition: DEFINITION, directory, source, fields },
    { clock: new ManualClock() },
  )
}

interface Said {
  readonly applied: number
  readonly checkpoint: number
}

/** What the child said last before it was killed, `afterMs` after its first word. */
async function killedChild(args: readonly string[], afterMs: number): Promise<Said> {
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit']
  const child = spawn(process.execPath, [CHILD, ...args], { stdio })
  let text = ''
  let timer: NodeJS.Timeout | undefined
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    timer ??= setTimeout(() => child.kill('SIGKILL'), afterMs)
  })
  await once(child, 'close')
  clearTimeout(timer)
  const [applied = 0, checkpoint = 0] = (text.split('\n').at(-2) ?? '').split(' ').map(Number)
  return { applied, checkpoint }
}
