import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeTextSettings } from '../suites/text-settings.ts'

describeTextSettings(THIS_PROCESS)
