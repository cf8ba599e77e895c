import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeSparseQueries } from '../suites/sparse-queries.ts'

describeSparseQueries(THIS_PROCESS)
