import { expect } from 'chai'
import { InvariantError } from '../../../../lib/assert.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { ErrorTranslator } from '../../../../lib/http/error-translator.ts'
import { silentLog, type Log } from '../../../../lib/log.ts'

const REQUEST = { requestId: 'r1', operation: 'batchWrite' }

describe('ErrorTranslator', () => {
  let clock: ManualClock
  let logged: { message: string; fields: Readonly<Record<string, unknown>> }[]
  let broken: InvariantError[]
  let translator: ErrorTranslator

  beforeEach(() => {
    clock = new ManualClock()
    logged = []
    broken = []
    const note = (message: string, fields = {}): void => void logged.push({ message, fields })
    const log: Log = { ...silentLog, warn: note, error: note }
    const onInvariantBroken = (error: InvariantError): void => void broken.push(error)
    translator = new ErrorTranslator({ log, clock, onInvariantBroken })
  })

  const refuse = (code: 'UNAVAILABLE' | 'OVERLOADED'): unknown =>
    translator.bodyOf(new ServiceError(code, 'later'), REQUEST)

  it('logs an unexpected error, and tells the client its id', () => {
    const body = translator.bodyOf(new TypeError('x is not a function'), REQUEST)

    expect(body).to.deep.equal({ error: 'internal error; request id r1', code: 'INTERNAL' })
    expect(logged).to.have.length(1)
    expect(logged[0]?.fields).to.include(REQUEST)
    expect(logged[0]?.fields['error']).to.match(/^TypeError: x is not a function\n/)
  })

  it('ends the process for a broken invariant', async () => {
    translator.bodyOf(new InvariantError('it holds'), REQUEST)
    await Promise.resolve()

    expect(broken).to.have.length(1)
  })

  it('does not log mistakes of clients', () => {
    translator.bodyOf(new ServiceError('INVALID_ARGUMENT', 'name is missing'), REQUEST)

    expect(logged).to.deep.equal([])
  })

  it('logs what the server could not do, with request, operation and code', () => {
    translator.bodyOf(new ServiceError('UNAVAILABLE', 'the shard starts'), REQUEST)

    const fields = { ...REQUEST, code: 'UNAVAILABLE', error: 'the shard starts', othersBefore: 0 }
    expect(logged).to.deep.equal([{ message: 'request failed', fields }])
  })

  it('logs each code once in a while, with the number of errors that it left out', () => {
    for (let i = 0; i < 5; i++) refuse('UNAVAILABLE')
    refuse('OVERLOADED')
    clock.advance(1000)
    refuse('UNAVAILABLE')

    const told = logged.map(({ fields }) => [fields['code'], fields['othersBefore']])
    expect(told).to.deep.equal([
      ['UNAVAILABLE', 0],
      ['OVERLOADED', 0],
      ['UNAVAILABLE', 4],
    ])
  })

  it('counts errors by their code, and exports all codes from the start', () => {
    translator.bodyOf(new ServiceError('CONFLICT', 'version changed'), REQUEST)
    translator.bodyOf(new TypeError('x'), REQUEST)

    expect(translator.counts()).to.include({ CONFLICT: 1, INTERNAL: 1, DISK_FULL: 0 })
  })
})
