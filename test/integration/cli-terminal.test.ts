// Servers on a terminal of their own, which `script` (util-linux) gives them.

import { spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { CommandFolder } from '../support/processes/quarry-command.ts'

const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')

const SERVERS: Readonly<Record<string, { command: string; names: readonly string[] }>> = {
  'a store': {
    command: 'swarm --data-dir data --api-port 0 --health-port 0',
    names: ['address', 'page', 'data', 'health'],
  },
  'an inference server': {
    command: 'inference --port 0 --health-port 0',
    names: ['address', 'page', 'models', 'health'],
  },
}

describe('on a terminal', () => {
  let folder: CommandFolder

  beforeEach(async () => {
    folder = await CommandFolder.open()
  })

  afterEach(() => folder[Symbol.asyncDispose]())

  for (const [server, { command, names }] of Object.entries(SERVERS)) {
    it(`${server} says where it is and how to end it, and nothing in JSON`, async () => {
      const shell = spawn('script', ['-qefc', `node ${BIN} ${command}`, '/dev/null'], {
        cwd: folder.path,
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      // Ctrl-C, typed when the last line is there.
      shell.stdout.on('data', (chunk) => {
        if (String(chunk).includes('/readyz')) shell.stdin.end('\u0003')
      })

      const shown = stripVTControlCharacters(await text(shell.stdout)).replaceAll('\r', '')

      expect(shown).to.include('Press Ctrl-C to end it.')
      for (const name of names) expect(shown).to.match(new RegExp(String.raw`^  ${name} +\S`, 'm'))
      expect(shown).to.include('server serves api=http://127.0.0.1:')
      expect(shown).to.include('server stopped')
      expect(shown).to.not.include('{"')
    })
  }
})
