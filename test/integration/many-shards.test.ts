import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeManyShards } from '../suites/many-shards.ts'

describeManyShards(THIS_PROCESS)
