import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeTextDifferential } from '../suites/text-differential.ts'

describeTextDifferential(THIS_PROCESS)
