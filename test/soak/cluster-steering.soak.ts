// A cluster that grows and shrinks again and again under load: five rounds, with longer documents.

import { describeSteering } from '../suites/steering.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)

describeSteering({ seed, rounds: 5, clients: 8, padding: 2000 })
