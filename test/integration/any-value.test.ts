import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeAnyValue } from '../suites/any-value.ts'

describeAnyValue(THIS_PROCESS)
