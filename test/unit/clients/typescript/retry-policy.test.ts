import { expect } from 'chai'
import { buildServiceError, ConnectionError } from '../../../../clients/typescript/src/errors.ts'
import {
  parseRetryAfterMs,
  RETRY_DEFAULTS,
  retryDelayMs,
} from '../../../../clients/typescript/src/retry-policy.ts'

function refusal(code: string, parts: { retryAfterMs?: number; body?: unknown } = {}): Error {
  const { retryAfterMs, body } = parts
  return buildServiceError({
    code,
    message: code,
    status: 503,
    headers: new Headers(),
    retryAfterMs,
    body,
  })
}

const BROKEN = new ConnectionError('the answer broke off')
const LOST = { conflict: { table: 'books', key: 'a', message: 'version changed' } }

describe('the retry policy of the client', () => {
  const cases: readonly (readonly [
    name: string,
    error: Error,
    always: boolean,
    ifRefused: boolean,
  ])[] = [
    ['a broken connection', BROKEN, true, false],
    ['OVERLOADED', refusal('OVERLOADED'), true, true],
    ['UNAVAILABLE', refusal('UNAVAILABLE'), true, false],
    ['a key held by another transaction', refusal('CONFLICT'), true, true],
    ['a version that changed', refusal('CONFLICT', { body: LOST }), false, false],
    ['ALREADY_EXISTS', refusal('ALREADY_EXISTS'), false, false],
    ['INVALID_ARGUMENT', refusal('INVALID_ARGUMENT'), false, false],
    ['IDEMPOTENCY_MISMATCH', refusal('IDEMPOTENCY_MISMATCH'), false, false],
    ['NOT_LEADER', refusal('NOT_LEADER'), true, true],
    ['TOO_FEW_IN_SYNC', refusal('TOO_FEW_IN_SYNC'), true, true],
    ['RANGE_MOVED', refusal('RANGE_MOVED'), true, true],
    ['HISTORY_GONE', refusal('HISTORY_GONE'), false, false],
    ['DEADLINE_EXCEEDED', refusal('DEADLINE_EXCEEDED'), false, false],
    ['DISK_FULL', refusal('DISK_FULL'), false, false],
    ['a code of a later server', refusal('TIRED'), false, false],
    ['any other error', new TypeError('no'), false, false],
  ]

  for (const [name, error, always, ifRefused] of cases) {
    it(`after ${name} repeats ${always ? '' : 'no '}reads, ${ifRefused ? '' : 'no '}other writes`, () => {
      const delays = (['always', 'if_refused'] as const).map((repeatable) =>
        retryDelayMs({ error, repeatable, attempts: 1 }, RETRY_DEFAULTS, 0.5),
      )

      expect(delays).to.deep.equal([always ? 100 : undefined, ifRefused ? 100 : undefined])
    })
  }

  it('waits longer each time, up to the maximum', () => {
    const options = { attemptsMax: 9, firstDelayMs: 200, delayMsMax: 1000 }
    const delays = [1, 2, 3, 4, 5].map((attempts) =>
      retryDelayMs({ error: BROKEN, repeatable: 'always', attempts }, options, 1),
    )

    expect(delays).to.deep.equal([200, 400, 800, 1000, 1000])
  })

  it('gives up after the last attempt', () => {
    const failure = { error: BROKEN, repeatable: 'always', attempts: 4 } as const
    expect(retryDelayMs(failure, RETRY_DEFAULTS, 0)).to.equal(undefined)
  })

  it('waits at least as long as the server asked for', () => {
    const error = refusal('OVERLOADED', { retryAfterMs: 3000 })
    const failure = { error, repeatable: 'if_refused', attempts: 1 } as const

    expect(retryDelayMs(failure, RETRY_DEFAULTS, 0)).to.equal(3000)
    expect(retryDelayMs(failure, RETRY_DEFAULTS, 0.5)).to.equal(3100)
  })

  it('gives up when the server asks for more than the maximum', () => {
    const error = refusal('UNAVAILABLE', { retryAfterMs: 60_000 })
    const failure = { error, repeatable: 'always', attempts: 1 } as const

    expect(retryDelayMs(failure, RETRY_DEFAULTS, 0)).to.equal(undefined)
  })

  it('reads seconds and dates', () => {
    const nowMs = Date.UTC(2026, 0, 1)
    const texts = [
      '0',
      '7',
      'Thu, 01 Jan 2026 00:00:05 GMT',
      'Wed, 31 Dec 2025 00:00:00 GMT',
      'soon',
    ]

    const read = [...texts, null].map((text) => parseRetryAfterMs(text, nowMs))

    expect(read).to.deep.equal([0, 7000, 5000, 0, undefined, undefined])
  })
})
