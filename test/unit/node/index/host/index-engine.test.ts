import { describeIndexEngine } from '../../../../conformance/index-engine.ts'
import { openExactFamily, type ExactAnswer } from '../../../../support/fakes/exact-index.ts'

describeIndexEngine('exact values', {
  kind: 'exact',
  openFamily: (disk) => openExactFamily({ disk }),
  merges: false,
  answers: ['search'],
  find: (value) => ({ question: 'search', request: { field: 'text', value } }),
  keysOf: ({ keys }: ExactAnswer) => keys,
  isVital: () => true,
})
