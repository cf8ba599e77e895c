import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import { CrashRounds } from '../support/loads/crash-rounds.ts'
import { Tally, VersionLedger } from '../support/loads/history.ts'
import { InterruptedBuild } from '../support/loads/interrupted-build.ts'
import { ProviderServer } from '../support/servers/providers/provider-server.ts'
import { ollamaDouble } from '../support/servers/providers/wire-doubles.ts'
import type { KillableStore, StorePlace } from '../support/places/store-under-test.ts'

export interface CrashOptions {
  readonly seed: number
  readonly rounds: number
  /** What one round may take. */
  readonly roundTimeoutMs: number
}

/** What holds after SIGKILL, wherever the store runs. */
export function describeCrashes(
  place: StorePlace<KillableStore>,
  { seed, rounds: wanted, roundTimeoutMs }: CrashOptions,
): void {
  describe(`the store under SIGKILL, of ${place.name}`, () => {
    it('keeps every acknowledged write as a whole, recovers by itself, and finds all documents', async () => {
      const tally = new Tally()
      const context = { random: seededRandom(seed), versions: new VersionLedger(), tally }
      await using provider = await ProviderServer.start(ollamaDouble)
      await using store = await place.open()
      const rounds = await CrashRounds.open({ store, context, provider })

      let done = 0
      try {
        for (; done < wanted; done++) await rounds.runOne()
        await rounds.stopAndRestart()
      } finally {
        process.stdout.write(
          `      rounds ${done}, kills ${rounds.kills}, ` +
            `acknowledged writes ${tally.count}, QUARRY_TEST_SEED=${seed}\n`,
        )
      }
    }).timeout((wanted + 1) * roundTimeoutMs + 30_000)

    it('completes an index that was being built when it ended', async () => {
      await using store = await place.open()
      using build = await InterruptedBuild.open(store)

      for (const end of ['kill', 'stop'] as const) {
        await build.newIndex(end)
        await build.newSchema(end)
      }

      // Else every end came too late, and nothing has been shown.
      expect(build.cutShort).to.be.greaterThan(0)
    }).timeout(4 * roundTimeoutMs + 240_000)
  })
}
