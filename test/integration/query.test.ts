import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeQueries } from '../suites/query.ts'

describeQueries(THIS_PROCESS)
