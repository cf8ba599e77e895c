import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeStoredAsSent } from '../suites/stored-as-sent.ts'

describeStoredAsSent(THIS_PROCESS)
