import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeSuggestions } from '../suites/suggestions.ts'

describeSuggestions(THIS_PROCESS)
