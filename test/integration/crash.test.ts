import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import { CrashRounds } from '../support/loads/crash-rounds.ts'
import { Tally, VersionLedger } from '../support/loads/history.ts'
import { InterruptedBuild } from '../support/loads/interrupted-build.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

/** A round takes two or three seconds; forty allow for a very busy machine. */
const ROUND_TIMEOUT_MS = 40_000

describe('the store under SIGKILL', () => {
  const { seed, crashRounds } = parseTestSettings(process.env)
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-crash-'))
  })

  afterEach(async () => {
    await rm(folder, { recursive: true })
  })

  it('keeps every acknowledged write as a whole, recovers by itself, and finds all documents', async () => {
    const tally = new Tally()
    const context = { random: seededRandom(seed), versions: new VersionLedger(), tally }
    await using rounds = await CrashRounds.open({ dataDir: path.join(folder, 'data'), context })

    let done = 0
    try {
      for (; done < crashRounds; done++) await rounds.runOne()
      await rounds.stopAndRestart()
    } finally {
      process.stdout.write(
        `      rounds ${done}, kills ${rounds.kills}, ` +
          `acknowledged writes ${tally.count}, QUARRY_TEST_SEED=${seed}\n`,
      )
    }
  }).timeout(crashRounds * ROUND_TIMEOUT_MS + 30_000)

  it('completes an index that was being built when it ended', async () => {
    await using build = await InterruptedBuild.open(path.join(folder, 'data'))

    for (const end of ['kill', 'stop'] as const) {
      await build.newIndex(end)
      await build.newSchema(end)
    }

    // Else every end came too late, and nothing has been shown.
    expect(build.cutShort).to.be.greaterThan(0)
  }).timeout(240_000)
})
