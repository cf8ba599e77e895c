import { ONE_PROCESS } from '../support/places/one-process.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeModel } from '../suites/model.ts'

const { seed, modelRuns } = parseTestSettings(process.env)

describeModel(ONE_PROCESS, { seed, runs: modelRuns, runTimeoutMs: 20_000 })
