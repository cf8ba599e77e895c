import { ManualClock } from '../../../../../../lib/clock.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { openTextFamily } from '../../../../../../node/index/text/hosted/text-family.ts'
import { TEXT_INDEX } from '../../../../../../node/index/kinds/text-descriptor.ts'
import {
  unpackAnswer,
  type PackedAnswer,
} from '../../../../../../node/index/text/search/packed-answer.ts'
import type { TextSearchAnswer } from '../../../../../../node/index/text/search/text-search.ts'
import { describeIndexEngine } from '../../../../../conformance/index-engine.ts'
import { textSearch } from '../../../../../support/worlds/text-shard.ts'

const MEMORY_BYTES = 8 * 2 ** 20

describeIndexEngine('text', {
  kind: 'text',
  openFamily: (disk) =>
    openTextFamily(
      { clock: new ManualClock(), memoryBytesMax: MEMORY_BYTES, disk },
      { dividedCostMin: 0 },
    ),
  merges: true,
  answers: ['search', 'select', 'statistics', 'highlight', 'suggest'],
  find: textSearch,
  received: (answer: PackedAnswer) => runAtOnce(unpackAnswer(answer)),
  keysOf: (answer: TextSearchAnswer) => answer.hits.map(({ key }) => Buffer.from(key).toString()),
  ...(TEXT_INDEX.division && { division: TEXT_INDEX.division }),
  isVital: (file) => file === 'manifest' || file === 'mapping',
})
