// Measures the figures of docs/decisions/0050-did-you-mean.md: what suggestions cost one shard, and how
// long their longest step is. `node bench/text/suggest-cost.ts`

import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { TextIndex } from '../../node/index/text/engine/text-index.ts'
import { FieldMapping } from '../../node/index/text/mapping/field-mapping.ts'
import { suggestWords } from '../../node/index/text/suggest/suggest-words.ts'
import type { Query } from '../../node/query/query-tree.ts'

const TERMS = 95_000
const TERMS_PER_DOCUMENT = 95
const ROUNDS = 10
/** About as often as in English. */
const LETTERS = 'eeeeeeeetttttaaaaaoooooiiiinnnnsssshhhrrrdddlllcccuummwwffggyyppbvk'

const index = TextIndex.open({ directory: undefined, clock: systemClock })
const mapping = new FieldMapping(undefined)
write()
for (const [name, text] of Object.entries({
  'one unknown word': 'seetional',
  'eight unknown words': Array.from({ length: 8 }, (_, n) => `${wordOf(n * 997)}xq`).join(' '),
  'a known word': wordOf(1),
})) {
  const best = bestSteps(() => suggestWords({ index, mapping }, { query: queryOf(text) }))
  const total = best.reduce((sum, ms) => sum + ms, 0)
  const figures = `${total.toFixed(1)} ms in ${best.length} steps, the longest ${Math.max(...best).toFixed(1)} ms`
  process.stdout.write(`${name}: ${figures} (each step in the best of ${ROUNDS} rounds)\n`)
}

/** Milliseconds of each step. The work is the same each time, so that what a busy machine adds is left out. */
function bestSteps(newWork: () => Sliced<unknown>): readonly number[] {
  const rounds = Array.from({ length: ROUNDS }, () => stepsOf(newWork()))
  const [first = []] = rounds
  return first.map((_, step) => Math.min(...rounds.map((steps) => steps[step] ?? 0)))
}

/** Distinct words of four to ten letters, of which many share no beginning. */
function wordOf(n: number): string {
  const random = seededRandom(n)
  const length = 4 + Math.floor(random() * 6)
  const letters = Array.from({ length }, () => LETTERS[Math.floor(random() * LETTERS.length)])
  return `${letters.join('')}${(n % 26).toString(36)}`
}

function write(): void {
  const documents = Array.from({ length: TERMS / TERMS_PER_DOCUMENT }, (_, at) => {
    const words = Array.from({ length: TERMS_PER_DOCUMENT }, (_each, n) =>
      wordOf(at * TERMS_PER_DOCUMENT + n),
    )
    // Each document also has the frequent word.
    return mapping.mapDocument(
      Buffer.from(`k${at}`),
      { text: `${words.join(' ')} ${wordOf(1)}` },
      0,
    )
  })
  index.apply({ sequence: 1, upserts: documents, deletes: [] })
}

function queryOf(text: string): Query {
  const [operator, analyzer] = ['or', undefined] as const
  return {
    kind: 'match',
    field: 'text',
    text,
    operator,
    fuzziness: 0,
    prefixLength: 0,
    analyzer,
    boost: 1,
  }
}

function stepsOf(work: Sliced<unknown>): readonly number[] {
  const steps: number[] = []
  for (let isOver = false; !isOver;) {
    const startMs = performance.now()
    isOver = work.next().done === true
    steps.push(performance.now() - startMs)
  }
  return steps
}
