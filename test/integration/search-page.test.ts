// The page of docs/tutorials/search-page.md in a real browser, beside a store as the tutorial starts it.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import path from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/processes/browser.ts'
import { CommandFolder, output, readyLine } from '../support/processes/quarry-command.ts'

const TUTORIAL = path.resolve(import.meta.dirname, '../../docs/tutorials/search-page.md')
const PAGE = /^```html\n(?<html>[\s\S]*?)^```$/m
const STORE = 'http://127.0.0.1:8080'

const PACKAGES = [
  { id: 'a', name: 'express', description: 'Fast web server', license: 'MIT' },
  { id: 'b', name: 'serve-static', description: 'Serve <b>static</b> files', license: 'MIT' },
  { id: 'c', name: 'pino', description: 'A logger', license: 'Apache-2.0' },
]

describe('the page of the tutorial', function () {
  this.timeout(180_000)

  let folder: CommandFolder
  let site: Server
  let browser: Browser
  let page: Page
  const complaints: string[] = []

  before(async () => {
    let html = PAGE.exec(readFileSync(TUTORIAL, 'utf8'))?.groups?.['html'] ?? ''
    site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html))
    await once(site.listen(0, '127.0.0.1'), 'listening')
    const origin = `http://127.0.0.1:${portOf(site)}`

    folder = await CommandFolder.open()
    const ports = ['--api-port', '0', '--health-port', '0', '--no-inference']
    const { api } = await readyLine(folder.quarry(['swarm', '--cors-origins', origin, ...ports]))
    expect(html).to.include(STORE)
    html = html.replaceAll(STORE, api)
    const load = folder.quarry(['load', 'packages', '-', '--create', '--url', api])
    load.stdin.end(PACKAGES.map((one) => JSON.stringify(one)).join('\n'))
    await output(load)

    browser = await launchBrowser()
    page = await browser.newPage()
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()))
    await page.goto(origin)
  })

  after(async () => {
    await browser.close()
    await folder[Symbol.asyncDispose]()
    site.close()
  })

  it('shows everything before anything is typed', async () => {
    await page.waitForSelector('#hits li:nth-child(3)')

    expect(await page.locator('#licences button').allTextContents()).to.deep.equal([
      'MIT (2)',
      'Apache-2.0 (1)',
    ])
  })

  it('marks what was found while its end is not typed, and leaves HTML of documents text', async () => {
    await page.fill('#text', 'stat')
    await page.waitForFunction(`document.querySelectorAll('#hits li').length === 1`)

    expect(await page.textContent('#hits li')).to.equal('serve-static: Serve <b>static</b> files')
    expect(await page.locator('#hits mark').allTextContents()).to.deep.equal(['static'])
  })

  it('filters by a facet', async () => {
    await page.fill('#text', '')
    await page.waitForSelector('#hits li:nth-child(3)')

    await page.click('text=Apache-2.0 (1)')
    await page.waitForFunction(`document.querySelectorAll('#hits li').length === 1`)

    expect(await page.textContent('#hits li')).to.equal('pino: A logger')
  })

  it('complains of nothing', () => {
    expect(complaints).to.deep.equal([])
  })
})

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
