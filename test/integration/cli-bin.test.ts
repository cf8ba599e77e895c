import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { ServiceDouble } from './cli-service-double.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const BIN = path.join(ROOT, 'bin', 'quarry')

// What an older Node lacks, taken from this one before bin/quarry runs.
const WAYS = {
  'in this process': '',
  'by replacing the process':
    "Object.defineProperty(process.versions, 'node', { value: '22.15.0' })",
  'in a child':
    "Object.defineProperty(process.versions, 'node', { value: '20.0.0' }); delete process.execve",
}

describe('bin/quarry', () => {
  let folder: string
  let service: ServiceDouble

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-bin-'))
    service = await ServiceDouble.open()
    service.tables.set('books', new Map())
  })

  afterEach(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  async function start(
    preload: string,
    args: readonly string[],
  ): Promise<ChildProcessWithoutNullStreams> {
    const preloadFile = path.join(folder, 'older-node.cjs')
    await writeFile(preloadFile, preload)
    return spawn(process.execPath, ['--require', preloadFile, BIN, ...args], {
      env: { ...process.env, QUARRY_URL: service.url },
    })
  }

  /** A command that waits for an answer: it would not end by itself when its input does. */
  async function startWaiting(preload: string): Promise<ChildProcessWithoutNullStreams> {
    const asked = new Promise<void>((resolve) => {
      service.intervene = () => {
        resolve()
        return 'no answer'
      }
    })
    const waiting = await start(preload, ['status'])
    await asked
    return waiting
  }

  for (const [way, preload] of Object.entries(WAYS)) {
    describe(way, () => {
      it('passes on arguments, output and exit code', async () => {
        const help = await start(preload, ['lookup', '--help'])
        const [output] = await Promise.all([text(help.stdout), once(help, 'close')])
        const usage = await start(preload, ['lookup'])
        const [complaint] = await Promise.all([text(usage.stderr), once(usage, 'close')])

        expect(output).to.match(/^Usage: quarry lookup/)
        expect(help.exitCode).to.equal(0)
        expect(complaint).to.match(/^error: missing required argument 'table'/)
        expect(usage.exitCode).to.equal(2)
      })

      it('passes on input', async () => {
        const load = await start(preload, ['load', 'books'])
        load.stdin.end('{"id":"a"}\n')
        await once(load, 'close')

        expect(load.exitCode).to.equal(0)
        expect(service.table('books').size).to.equal(1)
      })

      // 'close' comes when no process holds the output any more: neither the one that was started
      // nor one that it started.
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
        it(`leaves no process behind after ${signal}`, async () => {
          const waiting = await startWaiting(preload)

          waiting.kill(signal)
          await once(waiting, 'close')

          expect(waiting.signalCode).to.equal(signal)
        })
      }
    })
  }

  it('runs where no cache folder can be created', async () => {
    const args = [BIN, 'version']
    const env = { ...process.env, XDG_CACHE_HOME: '/proc/none', NODE_COMPILE_CACHE: '' }

    const quarry = spawn(process.execPath, args, { env })
    const [output] = await Promise.all([text(quarry.stdout), once(quarry, 'close')])

    expect(output).to.match(/^quarry \d/)
  })

  it('runs for a user without a home', async () => {
    const homeless = 'import os from "node:os";os.homedir=()=>{throw new Error("no such user")}'
    const preload = `--import=data:text/javascript,${encodeURIComponent(homeless)}`
    const { HOME: _, XDG_CACHE_HOME: _cache, NODE_COMPILE_CACHE: _set, ...rest } = process.env

    const quarry = spawn(process.execPath, [preload, BIN, 'version'], { env: rest })
    const [output] = await Promise.all([text(quarry.stdout), once(quarry, 'close')])

    expect(output).to.match(/^quarry \d/)
  })

  // A hint is pasted into the shell from which the command was started.
  const CALLS: Readonly<Record<string, { call: readonly [string, ...string[]]; hint: RegExp }>> = {
    'by its path from here': { call: ['node', 'bin/quarry'], hint: /: node bin\/quarry table/ },
    'from a folder of the checkout': {
      call: ['sh', '-c', 'cd docs && exec node ../bin/quarry "$@"', 'sh'],
      hint: /: node \.\.\/bin\/quarry table/,
    },
    'from elsewhere': {
      call: ['sh', '-c', `cd / && exec node '${BIN}' "$@"`, 'sh'],
      hint: /: node \S+\/bin\/quarry table/,
    },
    'by npx': { call: ['npx', 'quarry'], hint: /: npx quarry table/ },
    'by its name on the path': {
      call: ['sh', '-c', `PATH='${path.dirname(BIN)}':$PATH exec quarry "$@"`, 'sh'],
      hint: /: quarry table/,
    },
    'by a wrapper': {
      call: ['env', 'QUARRY_COMMAND=docker exec store quarry', 'node', 'bin/quarry'],
      hint: /: docker exec store quarry table/,
    },
  }
  for (const [way, { call, hint }] of Object.entries(CALLS)) {
    it(`gives hints that can be pasted when it is called ${way}`, async () => {
      service.tables.clear()
      const [program, ...args] = [...call, 'table', 'list', '--url', service.url]
      const { QUARRY_COMMAND: _, ...env } = process.env

      const quarry = spawn(program, args, { cwd: ROOT, env })
      const [output] = await Promise.all([text(quarry.stdout), once(quarry, 'close')])

      expect(output).to.match(hint)
    })
  }

  it('names the remedy when the dependencies are not installed', async () => {
    await cp(path.join(ROOT, 'bin'), path.join(folder, 'bin'), { recursive: true })

    const quarry = spawn(process.execPath, [path.join(folder, 'bin', 'quarry'), 'status'])
    const [complaint] = await Promise.all([text(quarry.stderr), once(quarry, 'close')])

    expect(complaint).to.match(/^quarry: .*run npm ci first\n$/)
    expect(quarry.exitCode).to.equal(78)
  })
})
