import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { seededRandom } from '../../lib/random.ts'
import { CrashRounds } from '../harness/crash-rounds.ts'
import { Tally, VersionLedger } from '../harness/history.ts'
import { parseTestSettings } from '../harness/test-settings.ts'

/** A round takes about a second; five allow for a busy machine. */
const ROUND_TIMEOUT_MS = 5000

describe('the store under SIGKILL', () => {
  const { seed, crashRounds } = parseTestSettings(process.env)
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-crash-'))
  })

  afterEach(async () => {
    await rm(folder, { recursive: true })
  })

  it('keeps every acknowledged write, whole, and heals by itself', async () => {
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
})
