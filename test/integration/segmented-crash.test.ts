import { describeSegmentedCrash } from '../conformance/segmented-crash.ts'
import { SEGMENTED_KINDS } from '../support/worlds/segmented-kinds.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)

for (const [name, tested] of Object.entries(SEGMENTED_KINDS)) {
  describeSegmentedCrash(name, tested, { seed })
}
