import { expect } from 'chai'
import { ServiceError } from '../../../lib/errors.ts'
import { receivedError, sentError, WorkerCalls } from '../../../lib/worker-calls.ts'
import { errorOf } from '../../support/error-of.ts'

const LOST = new ServiceError('UNAVAILABLE', 'the worker ended')

describe('the calls of a worker', () => {
  it('are answered by their number, in any order', async () => {
    const calls = new WorkerCalls<string>()
    const sent: number[] = []
    const first = calls.call<string>('a', (call) => sent.push(call))
    const second = calls.call<string>('b', (call) => sent.push(call))

    calls.answer(sent[1]!, received('two'))
    calls.refuse(sent[0]!, receivedError(sentError(LOST)))

    expect(await second).to.equal('two')
    expect(await errorOf(() => first)).to.include({ code: 'UNAVAILABLE', message: LOST.message })
    expect(calls.size).to.equal(0)
  })

  it('are settled once', async () => {
    const settled: string[] = []
    const calls = new WorkerCalls<string>({ onSettled: (sent) => settled.push(sent) })
    const call = calls.call<number>('a', () => undefined)

    calls.answer(1, received(7))
    calls.refuse(1, LOST)
    calls.lose(() => LOST)

    expect(await call).to.equal(7)
    expect(settled).to.deep.equal(['a'])
  })

  it('are lost with their worker, each with its own error', async () => {
    const calls = new WorkerCalls<string>()
    const lost = ['a', 'b'].map((name) => calls.call(name, () => undefined))

    calls.lose((name, call) => new ServiceError('UNAVAILABLE', `${name} ${call}`))

    const errors = await Promise.all(lost.map((call) => errorOf(() => call)))
    expect(errors.map(String)).to.deep.equal(['ServiceError: a 1', 'ServiceError: b 2'])
  })

  it('reject with the error that sending throws', async () => {
    const calls = new WorkerCalls<string>()

    const call = calls.call('a', () => {
      throw LOST
    })

    expect(await errorOf(() => call)).to.equal(LOST)
    expect(calls.size).to.equal(0)
  })

  it('are aborted until they are settled, also by a signal that aborted before', async () => {
    const calls = new WorkerCalls<string>()
    const aborted: number[] = []
    const over = new AbortController()
    const onAbort = (call: number): void => {
      aborted.push(call)
      calls.refuse(call, LOST)
    }
    const abort = { signal: over.signal, onAbort }
    const answered = calls.call('answered', () => undefined, abort)
    const waiting = calls.call('waiting', () => undefined, abort)

    calls.answer(1, received(null))
    over.abort()
    const late = calls.call('late', () => undefined, abort)

    expect(await answered).to.equal(null)
    expect(await errorOf(() => waiting)).to.equal(LOST)
    expect(await errorOf(() => late)).to.equal(LOST)
    expect(aborted).to.deep.equal([2, 3])
  })
})

/** As a message brings it: of whatever type its receiver names. */
function received(answer: unknown): never {
  const message: { readonly answer: never } = JSON.parse(JSON.stringify({ answer }))
  return message.answer
}
