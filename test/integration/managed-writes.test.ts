import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeManagedWrites } from '../suites/managed-writes.ts'

describeManagedWrites(THIS_PROCESS)
