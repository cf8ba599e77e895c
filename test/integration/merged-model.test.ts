import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { THIS_PROCESS } from '../support/places/this-process.ts'
import { describeMergedModel } from '../suites/merged-model.ts'

const { seed } = parseTestSettings(process.env)

describeMergedModel(THIS_PROCESS, { seed })
