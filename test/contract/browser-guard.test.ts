import { expect } from 'chai'
import { startApi } from './api-harness.ts'

describe('requests that a browser was made to send', () => {
  const lookup = { method: 'GET', path: '/api/v1/tables' } as const

  const cases: Record<string, { headers: Record<string, string>; status: number }> = {
    'a program without an origin': { headers: {}, status: 200 },
    'a page of another site': { headers: { origin: 'https://example.com' }, status: 403 },
    'a sandboxed page': { headers: { origin: 'null' }, status: 403 },
    'a foreign name that points here': { headers: { host: 'rebound.example' }, status: 403 },
    'localhost by name': { headers: { host: 'localhost:1' }, status: 200 },
    'localhost in capitals': { headers: { host: 'LOCALHOST:1' }, status: 200 },
    'our own page in capitals': {
      headers: { host: 'localhost:1', origin: 'HTTP://LOCALHOST:1' },
      status: 200,
    },
    'our own page': { headers: { host: 'localhost:1', origin: 'http://localhost:1' }, status: 200 },
  }

  for (const [name, { headers, status }] of Object.entries(cases)) {
    it(`${name} gets ${status}`, async () => {
      await using api = await startApi()

      const answer = await api.send({ ...lookup, headers })

      expect(answer.status).to.equal(status)
      if (status === 403) expect(JSON.parse(answer.body)).to.include({ code: 'FORBIDDEN' })
    })
  }

  it('is refused before a body is taken', async () => {
    await using api = await startApi()
    const headers = { origin: 'https://example.com' }

    await api.send({ method: 'POST', path: '/api/v1/tables/t', headers, body: '{}' })

    expect(await api.service.listTables({})).to.deep.equal([])
  })
})
