// The API pages in a real browser: every operation of both contracts works from "Try it out", with what
// the page fills in. The store has a fresh demo, the inference server no model.

import { createInterface } from 'node:readline'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { loadContract, type ContractName } from '../../door/contract.ts'
import { NEED_A_CLUSTER, NEED_A_MODEL, trialsOf } from '../contract/try-it-out.ts'
import { launchBrowser } from '../support/processes/browser.ts'
import { DocsPage } from '../support/processes/docs-page.ts'
import { CommandFolder } from '../support/processes/quarry-command.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { until } from '../support/until.ts'

describe('the API pages in a browser', () => {
  let browser: Browser

  before(async () => {
    browser = await launchBrowser()
  })

  after(() => browser.close())

  describe('of the store', () => {
    let folder: CommandFolder
    let page: DocsPage

    before(async () => {
      folder = await CommandFolder.open()
      const demo = folder.quarry(['demo'])
      let url: string | undefined
      for await (const line of createInterface({ input: demo.stdout })) {
        url = /^ {2}docs +(?<docs>http:.*)$/.exec(line)?.groups?.['docs']
        if (url !== undefined) break
      }
      page = await DocsPage.open(browser, url ?? '')
    })

    after(async () => {
      await page.close()
      await folder[Symbol.asyncDispose]()
    })

    shows('store.v1', () => page)
    for (const operationId of operationIds('store.v1')) {
      const needsCluster = NEED_A_CLUSTER.has(operationId)
      it(`${needsCluster ? 'miss a cluster for' : 'carry out'} ${operationId}`, async () => {
        const { status, shown } = await page.tryOut(operationId)

        if (needsCluster) expect(status, shown).to.equal(400)
        else expect(status, shown).to.be.within(200, 299)
        expect(page.takeComplaints()).to.deep.equal([])
      })
    }
  })

  describe('of the inference server', () => {
    let server: InferenceServer
    let page: DocsPage

    before(async () => {
      server = await InferenceServer.start()
      await until(async () => (await server.get('/readyz')).status === 200)
      page = await DocsPage.open(browser, `${server.url}/api/docs`)
    })

    after(async () => {
      await page.close()
      await server[Symbol.asyncDispose]()
    })

    shows('inference.v1', () => page)
    for (const operationId of operationIds('inference.v1')) {
      const needsModel = NEED_A_MODEL.has(operationId)
      it(`${needsModel ? 'miss a model for' : 'carry out'} ${operationId}`, async () => {
        const { status, shown } = await page.tryOut(operationId)

        if (needsModel) expect(status, shown).to.equal(404)
        else expect(status, shown).to.be.within(200, 299)
        expect(page.takeComplaints()).to.deep.equal([])
      })
    }
  })
})

function shows(contract: ContractName, page: () => DocsPage): void {
  it('fold the examples of errors, and show one at a click', async () => {
    const [first = ''] = operationIds(contract)

    expect(await page().errorExamples(first)).to.deep.equal([0, 1])
    expect(page().takeComplaints()).to.deep.equal([])
  })

  it('show every operation, and fill in all required parameters', async () => {
    expect(await page().operations()).to.have.members(operationIds(contract))
    expect(page().takeComplaints()).to.deep.equal([])
  })
}

/** In the order of the page, in which later ones find what earlier ones made. */
function operationIds(contract: ContractName): readonly string[] {
  return [...new Set(trialsOf(loadContract(contract)).map(({ operationId }) => operationId))]
}
