// What the docs pages offer to try works as it stands: the store's on a fresh demo, the inference
// server's without any model.

import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { DEMO_SCHEMA } from '../../cli/demo/demo-queries.ts'
import { loadContract } from '../../door/contract.ts'
import { NEED_A_CLUSTER, NEED_A_MODEL, trialsOf } from '../contract/try-it-out.ts'
import type { Trial } from '../contract/try-it-out.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { CommandFolder } from '../support/processes/quarry-command.ts'
import { until } from '../support/until.ts'

/** By operation and example: the refusals that are expected, and their reasons. */
const STORE_REFUSALS: Readonly<Record<string, number>> = {
  // The demo has one node.
  'createTable replicas': 400,
  // The demo has one table.
  'crossTableBatch several': 404,
  // Nobody knows a version in advance.
  'commitTransaction rename': 409,
}

async function send(url: string, { method, path, headers, body }: Trial): Promise<Response> {
  return fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) })
}

/** How many keys of the demo begin with "@". */
async function countScopedPackages(baseUrl: string): Promise<number> {
  const query = { count: true, filter_prefix: 'QA==' }
  const { hits } = await new StoreClient({ baseUrl }).queryTable('packages', query)
  return hits.total
}

/** The trials that the pages show first, and those behind them. */
function split(trials: readonly Trial[]): readonly [readonly Trial[], readonly Trial[]] {
  const seen = new Set<string>()
  const isFirst = trials.map(({ operationId }) => {
    const isNew = !seen.has(operationId)
    seen.add(operationId)
    return isNew
  })
  return [trials.filter((_, at) => isFirst[at]), trials.filter((_, at) => isFirst[at] !== true)]
}

describe("the store's docs page on a fresh demo", () => {
  const contract = loadContract('store.v1')
  const trials = trialsOf(contract)
  const [first, others] = split(trials)
  let folder: CommandFolder
  let url = ''
  let scopedPackages = 0

  before(async () => {
    folder = await CommandFolder.open()
    const demo = folder.quarry(['demo'])
    for await (const line of createInterface({ input: demo.stdout })) {
      url = /^ {2}API +(?<api>http:.*)\/api\/v1$/.exec(line)?.groups?.['api'] ?? url
      if (url !== '') break
    }
    scopedPackages = await countScopedPackages(url)
  })

  after(() => folder[Symbol.asyncDispose]())

  it('leaves the headers of requests empty', () => {
    const filledIn = trials.flatMap(({ headers }) => Object.keys(headers))
    expect([...new Set(filledIn)].toSorted()).to.deep.equal(['accept', 'content-type'])
  })

  it("shows the schema that the demo's table has", () => {
    const shown = trials.find(({ operationId }) => operationId === 'updateTableSchema')
    expect(JSON.parse(shown?.body ?? '')).to.deep.equal(DEMO_SCHEMA)
  })

  for (const trial of first) {
    const needsCluster = NEED_A_CLUSTER.has(trial.operationId)
    it(`${needsCluster ? 'misses a cluster for' : 'carries out'} ${trial.operationId}`, async () => {
      const answer = await send(url, trial)

      const text = await answer.text()
      if (needsCluster) expect([answer.status, text]).to.satisfy(isMissingCluster)
      else expect(answer.status, text).to.be.within(200, 299)
    })
  }

  for (const trial of others) {
    const name = `${trial.operationId} ${trial.example}`
    const refusal = STORE_REFUSALS[name]
    it(`${refusal === undefined ? 'carries out' : 'refuses'} the further example ${name}`, async () => {
      // The page's first example of the same has made it.
      if (trial.operationId === 'createTable') await fetch(url + trial.path, { method: 'DELETE' })

      const answer = await send(url, trial)

      const text = await answer.text()
      if (refusal === undefined) expect(answer.status, text).to.be.within(200, 299)
      else expect(answer.status, text).to.equal(refusal)
    })
  }

  it('leaves the packages of the demo unchanged', async () => {
    expect(scopedPackages).to.be.greaterThan(0)
    expect(await countScopedPackages(url)).to.equal(scopedPackages)
  })
})

describe("the inference server's docs page without models", () => {
  const [first] = split(trialsOf(loadContract('inference.v1')))
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start()
    await until(async () => (await server.get('/readyz')).status === 200)
  })

  after(() => server[Symbol.asyncDispose]())

  for (const trial of first) {
    const needsModel = NEED_A_MODEL.has(trial.operationId)
    it(`${needsModel ? 'misses a model for' : 'carries out'} ${trial.operationId}`, async () => {
      const answer = await send(server.url, trial)

      const text = await answer.text()
      if (needsModel) expect([answer.status, text]).to.satisfy(isMissingModel)
      else expect(answer.status, text).to.be.within(200, 299)
    })
  }
})

function isMissingCluster([status, text]: readonly [number, string]): boolean {
  return status === 400 && text.includes('swarm mode')
}

function isMissingModel([status, text]: readonly [number, string]): boolean {
  return status === 404 && text.includes('acme/')
}
