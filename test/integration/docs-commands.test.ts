// The pages about vectors and media, followed from top to bottom: their shell blocks, in one shell, against a store and an
// inference server as they come out of the box. What needs a model from the hub or somebody's key is left out.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { CommandFolder, output, readyLine } from '../support/processes/quarry-command.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const BLOCK = /^```sh\n(?<body>[\s\S]*?)^```$/gm
const NEEDS_MORE = /models pull|OPENAI_API_KEY/
const SECONDS_MAX = 120
/** A refusal ends the shell with what the server said. */
const SHELL = `
set -eo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
`

function blocksOf(page: string): readonly string[] {
  const markdown = readFileSync(path.join(ROOT, page), 'utf8')
  return [...markdown.matchAll(BLOCK)].map(({ groups }) => groups?.['body'] ?? '')
}

/** By page, what must be in the output. */
const PAGES: Readonly<Record<string, readonly RegExp[]>> = {
  'docs/how-to/vectors.md': [
    /"inserted":3/,
    /"_id":"tides"[^\n]*"_index_scores":\{"meaning":/,
    /"_index_scores":\{"full_text":[\d.]+,"meaning":/,
    /created index meaning of table memos/,
    /state +\w/,
    /"_index_scores":\{"own":/,
    /"_index_scores":\{"terms":0\.5\}/,
  ],
  'docs/how-to/media.md': [/"seen":\{"name":"seen"/],
}

describe('the commands of a page', function () {
  this.timeout((SECONDS_MAX + 60) * 1000)

  let folder: CommandFolder
  let store: string
  let inference: string

  before(async () => {
    folder = await CommandFolder.open()
    const ports = ['--api-port', '0', '--health-port', '0']
    store = (await readyLine(folder.quarry(['swarm', '--data-dir', 'data', ...ports]))).api
    inference = (await readyLine(folder.quarry(['inference', '--port', '0', '--health-port', '0'])))
      .api
  })

  after(() => folder[Symbol.asyncDispose]())

  for (const [page, expected] of Object.entries(PAGES)) {
    it(`do what they say, in ${page}`, async () => {
      const commands = blocksOf(page).filter((block) => !NEEDS_MORE.test(block))
      const script = [SHELL, ...commands]
        .join('\n')
        .replaceAll('http://127.0.0.1:8080', store)
        .replaceAll('http://127.0.0.1:11433', inference)
      const env = { ...process.env, QUARRY_URL: store }

      const shell = spawn('timeout', [String(SECONDS_MAX), 'bash', '-c', script], {
        cwd: ROOT,
        env,
      })
      const [out, err] = await output(shell)

      expect(shell.exitCode, `${out}\n${err}`).to.equal(0)
      for (const pattern of expected) expect(out).to.match(pattern)
    })
  }
})
