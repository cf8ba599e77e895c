import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { expect } from 'chai'
import { LoadGenerator } from '../../../../bench/load/load-generator.ts'
import type { LoadJob } from '../../../../bench/load/load-job.ts'

interface Counted {
  readonly origin: string
  readonly server: Server
  count: number
}

async function startCounting(others: readonly Counted[]): Promise<Counted> {
  const server = createServer((request, response) => {
    if (counted.count === 0) expect(others.every(({ count }) => count > 0)).to.equal(true)
    request.resume().once('end', () => response.setHeader('content-length', 2).end('{}'))
    counted.count += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const counted: Counted = { origin: `http://127.0.0.1:${address.port}`, server, count: 0 }
  return counted
}

function jobOf({ origin }: Counted, bodies: number): Omit<LoadJob, 'kind'> {
  return {
    origin,
    clients: 2,
    plan: { kind: 'bodies', path: '/', bodies: Array<string>(bodies).fill('{}'), repeats: false },
    until: { kind: 'end-of-plan' },
  }
}

describe('a load generator', () => {
  it('runs jobs that come at once one after the other, and each gets its own answer', async () => {
    const first = await startCounting([])
    const second = await startCounting([first])
    await using generator = new LoadGenerator()

    const loads = await Promise.all([
      generator.load(jobOf(first, 50)),
      generator.load(jobOf(second, 7)),
    ])

    expect(loads.map(({ answered }) => answered)).to.deep.equal([50, 7])
    expect([first.count, second.count]).to.deep.equal([50, 7])
    for (const { server } of [first, second]) server.close()
  })
})
