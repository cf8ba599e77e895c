// A real browser, without a window: Chromium as the system has it.

import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { chromium, type Browser } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Fails with the names that were looked for if there is no browser. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPath(),
    // The sandbox refuses root, who runs the tests in many a container.
    args: ['--disable-gpu'],
    chromiumSandbox: process.getuid?.() !== 0,
  })
}

function browserPath(): string {
  const named = process.env['QUARRY_TEST_BROWSER']
  if (named !== undefined) return named
  const folders = (process.env['PATH'] ?? '').split(path.delimiter)
  const places = NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name)))
  const found = places.find(isProgram)
  if (found !== undefined) return found
  throw new Error(
    `no browser: install Chromium (Debian: apt-get install chromium), or name one in ` +
      `QUARRY_TEST_BROWSER; looked for ${NAMES.join(', ')} in PATH`,
  )
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
