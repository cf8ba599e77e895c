import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeQueryIndexes } from '../suites/query-indexes.ts'

describeQueryIndexes(THIS_PROCESS)
