import { expect } from 'chai'
import { ServiceError } from '../../../../../lib/errors.ts'
import { runAtOnce, type Sliced } from '../../../../../lib/sliced.ts'
import type { IndexEngine } from '../../../../../node/index/host/index-engine.ts'
import { STOP_REASONS, type JoinedAnswer } from '../../../../../node/index/host/protocol.ts'
import { answerTogether } from '../../../../../node/index/worker/answer-together.ts'
import { errorOf } from '../../../../support/error-of.ts'

/** What an index answers, or why it does not. */
type Told = number | Error

class World {
  readonly damaged: number[] = []
  readonly asked: unknown[] = []
  readonly stop = new Int32Array(new SharedArrayBuffer(4))
  readonly #told: readonly Told[]

  constructor(...told: readonly Told[]) {
    this.#told = told
  }

  /** Joined by their sum; each index is asked with the sum of those before it. */
  answer(): Sliced<JoinedAnswer> {
    let sum = 0
    const join = {
      get request() {
        return sum
      },
      *add(answer: unknown): Sliced<void> {
        yield
        sum += Number(answer)
      },
      *answer(): Sliced<unknown> {
        yield
        return sum
      },
    }
    const asked = { question: 'search', request: 0 } as const
    const indexes = this.#told.map((_, index) => index)
    return answerTogether(
      { kind: 'text', indexes, asked, stop: this.stop },
      {
        join,
        engineOf: (index) => this.#engineOf(index),
        onDamaged: (index) => this.damaged.push(index),
      },
    )
  }

  #engineOf(index: number): Pick<IndexEngine, 'answer'> {
    const told = this.#told[index]
    const { asked } = this
    return {
      *answer({ request }) {
        asked.push(request)
        yield
        if (told instanceof Error) throw told
        return told
      },
    }
  }
}

describe('a question to several indexes of a worker', () => {
  it('joins their answers, each asked with what the ones before have found', () => {
    const world = new World(1, 2, 4)

    const joined = runAtOnce(world.answer())

    expect(joined).to.deep.equal({ answer: 7, refused: [] })
    expect(world.asked).to.deep.equal([0, 1, 3])
  })

  it('leaves out the indexes that fail, and names them', () => {
    const world = new World(1, new ServiceError('UNAVAILABLE', 'it is not open'), 4)

    const joined = runAtOnce(world.answer())

    const error = { code: 'UNAVAILABLE', message: 'it is not open' }
    expect(joined).to.deep.equal({ answer: 5, refused: [{ index: 1, error }] })
    expect(world.damaged).to.deep.equal([])
  })

  it('closes the index that is damaged, and no other', () => {
    const world = new World(1, new ServiceError('CORRUPTION', 'a checksum'), 4)

    const joined = runAtOnce(world.answer())

    expect(joined.answer).to.equal(5)
    expect(world.damaged).to.deep.equal([1])
  })

  it('has no answer if all fail', () => {
    const world = new World(new Error('a bug'), new ServiceError('UNAVAILABLE', 'it is not open'))

    const joined = runAtOnce(world.answer())

    expect(joined.answer).to.equal(undefined)
    expect(joined.refused.map(({ error }) => error.code)).to.deep.equal(['INTERNAL', 'UNAVAILABLE'])
  })

  for (const code of ['INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'CANCELLED'] as const) {
    it(`ends at the first index that answers ${code}`, async () => {
      const world = new World(1, new ServiceError(code, 'for all'), 4)

      const refusal = await errorOf(() => runAtOnce(world.answer()))

      expect(refusal).to.include({ code })
      expect(world.asked).to.have.length(2)
    })
  }

  it('ends between two steps when it is stopped', async () => {
    const world = new World(1, 2, 4)
    const work = world.answer()
    work.next()

    Atomics.store(world.stop, 0, STOP_REASONS.cancelled)
    const refusal = await errorOf(() => runAtOnce(work))

    expect(refusal).to.include({ code: 'CANCELLED' })
    expect(world.asked).to.deep.equal([0])
  })
})
