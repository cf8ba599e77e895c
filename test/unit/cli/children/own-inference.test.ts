import { expect } from 'chai'
import { OwnInference } from '../../../../cli/children/own-inference.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { isServiceError, type ServiceError } from '../../../../lib/errors.ts'
import { errorOf } from '../../../support/error-of.ts'
import { until } from '../../../support/until.ts'

/** Prints a ready line with its process id for a port, and runs until its parent has gone or it is asked to end. */
const SERVER = `
  console.error('a line of the log')
  console.log('{"event":"ready","api":"http://127.0.0.1:' + process.pid + '","health":"-"}')
  require('node:fs').read(3, Buffer.alloc(1), () => process.exit(0))
`

function own(script: string): { readonly inference: OwnInference; readonly lines: string[] } {
  const lines: string[] = []
  const inference = new OwnInference({
    command: { command: process.execPath, args: ['-e', script], env: process.env },
    clock: systemClock,
    onLog: (line) => lines.push(line),
  })
  return { inference, lines }
}

function isRunning(url: string): boolean {
  try {
    return process.kill(Number(new URL(url).port), 0)
  } catch {
    return false
  }
}

async function failureOf(inference: OwnInference): Promise<ServiceError> {
  const error = await errorOf(() => inference.url())
  if (isServiceError(error)) return error
  throw error
}

describe('the inference server of a store', () => {
  it('starts when it is asked for first, and once for all who ask', async () => {
    const { inference, lines } = own(SERVER)

    const urls = await Promise.all([inference.url(), inference.url()])
    urls.push(await inference.url())

    expect(new Set(urls).size).to.equal(1)
    expect(isRunning(urls[0] ?? '')).to.equal(true)
    await until(async () => lines.includes('a line of the log'))
    await inference[Symbol.asyncDispose]()
    expect(isRunning(urls[0] ?? '')).to.equal(false)
  })

  it('starts again when it has ended', async () => {
    const { inference } = own(SERVER)
    await using _ = inference
    const before = await inference.url()

    process.kill(Number(new URL(before).port), 'SIGKILL')
    await until(async () => (await inference.url()) !== before)

    expect(isRunning(await inference.url())).to.equal(true)
  })

  it('says why it does not start, and is tried again by the next question', async () => {
    const { inference } = own("console.error('the port is in use'); process.exit(78)")
    await using _ = inference

    const first = await failureOf(inference)
    const second = await failureOf(inference)

    const message = "the store's own inference server: ended with code 78: the port is in use"
    expect([first.code, first.message]).to.deep.equal(['UNAVAILABLE', message])
    expect(second.message).to.equal(message)
  })

  it('is not started by a store that ends', async () => {
    const { inference } = own(SERVER)
    await inference[Symbol.asyncDispose]()

    const failure = await failureOf(inference)

    expect(failure.code).to.equal('UNAVAILABLE')
  })
})
