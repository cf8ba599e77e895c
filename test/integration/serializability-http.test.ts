import { ONE_PROCESS } from '../support/places/one-process.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeSerializability } from '../suites/serializability.ts'

const { seed } = parseTestSettings(process.env)

describeSerializability(ONE_PROCESS, { seed, perClient: 40, timeoutMs: 240_000 })
