import { expect } from 'chai'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { suggestWords } from '../../../../../../node/index/text/suggest/suggest-words.ts'
import { countTo } from '../../../../../support/loads/load.ts'
import { MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'
import { walk } from '../../../../../support/slices/sliced-steps.ts'
import { longestStepAtBestMs } from '../../../../../support/slices/step-time.ts'

const STEP_MS_MAX = 9

const letter = (n: number) => String.fromCodePoint(0x430 + (n % 32))

describe('the close words of one that was typed', () => {
  // Two of eight letters differ, so that all of these are two edits away.
  const words = countTo(32).flatMap((a) =>
    countTo(32).flatMap((b) =>
      countTo(14).map((place) => {
        const at = place % 7
        const rest = 'ыыыыыыы'
        return `${rest.slice(0, at)}${letter(a)}${rest.slice(at + 1)}${letter(b)}`
      }),
    ),
  )
  const index = new MemoryTextIndex({ a: { t: words.join(' ') } })
  const query = parseQuery({ match: 'ыыыыыыыx', field: 't' }, 'query')
  const newWork = () => suggestWords(index, { query })

  it('are the sixteen closest of thousands, in order', () => {
    const { result } = walk(newWork())

    expect(result).to.have.length(1)
    const close = result[0]?.close ?? []
    expect(close).to.have.length(16)
    const distances = close.map(({ distance }) => distance)
    expect(distances).to.deep.equal(distances.toSorted((a, b) => a - b))
    expect(distances[0]).to.equal(1)
  })

  it('are found in short steps', () => {
    expect(longestStepAtBestMs(newWork, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
  })
})
