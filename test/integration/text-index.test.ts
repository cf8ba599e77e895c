import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeTextIndex } from '../suites/text-index.ts'

describeTextIndex(THIS_PROCESS)
