import { expect } from 'chai'
import { InvariantError } from '../../../../../lib/assert.ts'
import {
  apiErrorOf,
  classifyError,
  isNamespaceTerminating,
  NO_ANSWER,
  NotLeadingError,
  retryAfterMsOf,
  TransientError,
  unansweredError,
} from '../../../../../operator/runtime/api/api-error.ts'
import type { ErrorClass } from '../../../../../operator/runtime/api/api-error.ts'

const CASES: Record<ErrorClass, readonly unknown[]> = {
  conflict: [apiErrorOf(409, { reason: 'Conflict' }), apiErrorOf(409, { reason: 'AlreadyExists' })],
  throttled: [apiErrorOf(429, {})],
  transient: [
    unansweredError(new Error('reset')),
    apiErrorOf(408, {}),
    apiErrorOf(500, 'a page of a proxy'),
    apiErrorOf(503, {}),
    apiErrorOf(504, {}),
    new TransientError('the store is away'),
  ],
  forbidden: [apiErrorOf(403, {}), apiErrorOf(401, {})],
  invalid: [apiErrorOf(400, {}), apiErrorOf(422, {}), apiErrorOf(415, {}), apiErrorOf(418, {})],
  absent: [apiErrorOf(404, {})],
  expired: [apiErrorOf(410, { reason: 'Expired' })],
  'not-leading': [new NotLeadingError('another one leads')],
  stopped: [new DOMException('over', 'AbortError')],
  bug: [new InvariantError('x'), new TypeError('x'), 'text', undefined],
}

describe('classifyError', () => {
  for (const [expected, errors] of Object.entries(CASES)) {
    it(`answers ${expected}`, () => {
      expect(new Set(errors.map(classifyError))).to.deep.equal(new Set([expected]))
    })
  }
})

describe('apiErrorOf', () => {
  it('reads reason, message, causes and the time to wait from a status', () => {
    const error = apiErrorOf(403, {
      kind: 'Status',
      message: 'pods "a" is forbidden: exceeded quota',
      reason: 'Forbidden',
      details: {
        retryAfterSeconds: 7,
        causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace', message: 'm' }, 3],
      },
    })

    expect(error).to.include({ status: 403, reason: 'Forbidden', retryAfterMs: 7000 })
    expect(error.message).to.equal('pods "a" is forbidden: exceeded quota')
    expect(error.causes).to.deep.equal([
      { reason: 'NamespaceTerminating', field: 'metadata.namespace', message: 'm' },
    ])
    expect(isNamespaceTerminating(error)).to.equal(true)
  })

  it('prefers the header to the body, and has no time without either', () => {
    const body = { details: { retryAfterSeconds: 7 } }

    expect(retryAfterMsOf(apiErrorOf(429, body, { retryAfterMs: 2000 }))).to.equal(2000)
    expect(retryAfterMsOf(apiErrorOf(429, {}))).to.equal(0)
    expect(retryAfterMsOf(new Error('x'))).to.equal(0)
  })

  it('has the cause of a request without an answer', () => {
    const cause = new Error('connect ECONNREFUSED')
    const error = unansweredError(new TypeError('fetch failed', { cause }))

    expect(error.status).to.equal(NO_ANSWER)
    expect(error.message).to.equal('the API did not answer: connect ECONNREFUSED')
    expect(isNamespaceTerminating(error)).to.equal(false)
  })
})
