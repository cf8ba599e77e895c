import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeSteering } from '../suites/steering.ts'

const { seed } = parseTestSettings(process.env)

describeSteering({ seed, rounds: 1, clients: 4, padding: 0 })
