import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeTextScripts } from '../suites/text-scripts.ts'

describeTextScripts(THIS_PROCESS)
