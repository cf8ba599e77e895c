import { describeSegmentedIndex } from '../../../../conformance/segmented-index.ts'
import { SEGMENTED_KINDS } from '../../../../support/worlds/segmented-kinds.ts'
import { parseTestSettings } from '../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)

for (const [name, tested] of Object.entries(SEGMENTED_KINDS)) {
  describeSegmentedIndex(name, tested, { seed })
}
