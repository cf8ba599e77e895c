// The page of an API in a browser, used as a person does: open an operation, "Try it out", "Execute".

import type { Browser, Locator, Page } from 'playwright-core'

const WAIT_MS = 60_000

export class DocsPage {
  readonly #page: Page
  readonly #complaints: string[] = []

  private constructor(page: Page) {
    this.#page = page
    page.setDefaultTimeout(WAIT_MS)
    page.on('pageerror', ({ message }) => this.#complaints.push(message))
    page.on('console', (message) => {
      // Chromium itself reports an answer of 4xx so: the test looks at the status anyway.
      const isStatus = message.text().startsWith('Failed to load resource: the server responded')
      if (message.type() === 'error' && !isStatus) this.#complaints.push(message.text())
    })
  }

  static async open(browser: Browser, url: string): Promise<DocsPage> {
    const page = await browser.newPage()
    const opened = new DocsPage(page)
    await page.goto(url)
    await page.locator('.opblock').first().waitFor()
    return opened
  }

  /** Errors in the console, and exceptions, since the last call. */
  takeComplaints(): readonly string[] {
    return this.#complaints.splice(0)
  }

  async operations(): Promise<readonly string[]> {
    const ids = await this.#page.locator('.opblock').evaluateAll((all) => all.map(({ id }) => id))
    return ids.map((id) => id.slice(id.lastIndexOf('-') + 1))
  }

  /** The status of the answer; what the page fills in is sent as it is. */
  async tryOut(operationId: string): Promise<{ readonly status: number; readonly shown: string }> {
    const block = this.#page.locator(`.opblock[id$="-${operationId}"]`)
    await press(block.locator('.opblock-summary-control'))
    await press(block.locator('.try-out__btn'))
    await press(block.locator('.execute'))
    const answer = block.locator('.live-responses-table')
    const status = await answer.locator('tbody .response-col_status').first().textContent()
    const shown = (await answer.textContent()) ?? ''
    await press(block.locator('.opblock-summary-control'))
    return { status: Number.parseInt(status ?? '', 10), shown }
  }

  /** How many examples of errors an open operation shows: at first, and after a click on the first status of one. */
  async errorExamples(operationId: string): Promise<readonly [before: number, after: number]> {
    const block = this.#page.locator(`.opblock[id$="-${operationId}"]`)
    await press(block.locator('.opblock-summary-control'))
    const errors = block.locator('.responses-table .response:not([data-code^="2"])')
    await errors.first().waitFor()
    const shown = () => errors.locator('.model-example').filter({ visible: true }).count()
    const before = await shown()
    await press(errors.first().locator('.response-col_status'))
    const after = await shown()
    await press(block.locator('.opblock-summary-control'))
    return [before, after]
  }

  close(): Promise<void> {
    return this.#page.close()
  }
}

/** A click as scripts do it: without waiting for frames, which takes seconds where there is no GPU. */
function press(button: Locator): Promise<void> {
  return button.dispatchEvent('click')
}
