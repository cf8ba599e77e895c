import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeTextFields } from '../suites/text-fields.ts'

describeTextFields(THIS_PROCESS)
