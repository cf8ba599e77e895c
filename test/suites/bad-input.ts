import { expect } from 'chai'
import { prepareBooks, send, type Received, type Sent } from '../contract/api-harness.ts'
import type { Row } from '../contract/bad-cluster-requests.ts'

const T = '/api/v1/tables'
const BOOKS = `${T}/books`

const STATUS_OF: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ALREADY_EXISTS: 409,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
}

/** What is sent by operation, and what must come back. */
export type BadRequests = Readonly<Record<string, readonly Row[]>>

/** A server of the API. `api` is asked for each request. */
export interface ApiUnderTest extends AsyncDisposable {
  readonly api: string
}

export interface ApiPlace<Server extends ApiUnderTest = ApiUnderTest> {
  readonly name: string
  open(): Promise<Server>
}

/** `then` checks the server when all has been sent. */
export function describeBadInput<Server extends ApiUnderTest>(
  place: ApiPlace<Server>,
  requests: readonly BadRequests[],
  then: (server: Server) => void,
): void {
  describe(`bad input, of ${place.name}`, () => {
    let server: Server
    let untouched: string

    const ask = (sent: Sent): Promise<Received> => send(server.api, sent)
    const everything = async () => {
      const { body } = await ask({ method: 'POST', path: `${BOOKS}/lookup` })
      const tables = await ask({ method: 'GET', path: T })
      // A little later, housekeeping removes the record of an ended transaction, and indexes have what was committed.
      const moving =
        /,?"(?:disk_usage|index_disk_usage|approximate_documents|documents_behind)":\d+/g
      return body + tables.body.replaceAll(moving, '')
    }

    before(async () => {
      server = await place.open()
      await prepareBooks({ send: ask })
      const headers = { 'idempotency-key': 'used' }
      await ask({ method: 'POST', path: `${BOOKS}/batch`, body: '{"deletes":["y"]}', headers })
      untouched = await everything()
    })

    after(() => server[Symbol.asyncDispose]())

    for (const [operationId, cases] of requests.flatMap((one) => Object.entries(one))) {
      describe(operationId, () => {
        for (const row of cases) it(`refuses ${row[0]}`, () => expectRefused(ask, row))
      })
    }

    it('leaves the store unchanged', async () => {
      expect(await everything()).to.equal(untouched)
      then(server)
    })
  })
}

async function expectRefused(
  ask: (sent: Sent) => Promise<Received>,
  [, sent, code, message = /./]: Row,
): Promise<void> {
  const { status, body, headers } = await ask({ method: 'POST', ...sent })

  const error: unknown = JSON.parse(body)
  expect(error).to.include({ code })
  expect(error).to.have.property('error').that.is.a('string').with.length.greaterThan(5)
  expect(error).to.have.property('error').that.matches(message)
  expect(status).to.equal(STATUS_OF[code])
  expect(headers['content-type']).to.equal('application/json')
  expect(headers['x-content-type-options']).to.equal('nosniff')
  expect(body).to.not.match(/node_modules|\.ts:|at async|undefined/)
}
