import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeQueryCursors } from '../suites/query-cursors.ts'

describeQueryCursors(THIS_PROCESS)
