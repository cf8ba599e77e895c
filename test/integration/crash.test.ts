import { ONE_PROCESS } from '../support/places/one-process.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeCrashes } from '../suites/crash.ts'

const { seed, crashRounds } = parseTestSettings(process.env)

// A round takes two or three seconds; forty allow for a very busy machine.
describeCrashes(ONE_PROCESS, { seed, rounds: crashRounds, roundTimeoutMs: 40_000 })
