import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeFilterDoors } from '../suites/filter-doors.ts'

describeFilterDoors(THIS_PROCESS)
