import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeVectorQueries } from '../suites/vector-queries.ts'

describeVectorQueries(THIS_PROCESS)
