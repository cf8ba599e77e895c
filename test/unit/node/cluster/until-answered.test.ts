import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { silentLog, type Log } from '../../../../lib/log.ts'
import { untilAnswered } from '../../../../node/cluster/until-answered.ts'
import { errorOf } from '../../../support/error-of.ts'

/** Sleeps end at once, however long they are. */
class HastyClock extends ManualClock {
  override async sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
  }
}

const away = (): ServiceError => new ServiceError('UNAVAILABLE', 'nobody answers')
const never = new AbortController().signal

describe('untilAnswered', () => {
  const clock = new HastyClock()

  it('repeats a step that nobody answered, and says each time why', async () => {
    const told: unknown[] = []
    const log: Log = { ...silentLog, warn: (_message, fields) => told.push(fields) }
    let left = 3
    const step = async (): Promise<string> => {
      if (left-- > 0) throw away()
      return 'here'
    }

    const answer = await untilAnswered(step, { clock, log, signal: never })

    expect(answer).to.equal('here')
    expect(told).to.deep.equal([1, 2, 3].map(() => ({ reason: 'nobody answers' })))
  })

  it('passes a refusal on at once', async () => {
    const refusal = new ServiceError('FORBIDDEN', 'who are you?')
    let asked = 0
    const step = async (): Promise<never> => {
      asked += 1
      throw refusal
    }

    const waiting = { clock, log: silentLog, signal: never }

    expect(await errorOf(() => untilAnswered(step, waiting))).to.equal(refusal)
    expect(asked).to.equal(1)
  })

  it('ends with the reason of its signal', async () => {
    const stop = new AbortController()
    const step = async (): Promise<never> => {
      stop.abort(new Error('SIGTERM'))
      throw away()
    }

    const waiting = { clock, log: silentLog, signal: stop.signal }

    expect(await errorOf(() => untilAnswered(step, waiting))).to.equal(stop.signal.reason)
  })
})
