import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeMergedCursors } from '../suites/merged-cursors.ts'

describeMergedCursors(THIS_PROCESS)
