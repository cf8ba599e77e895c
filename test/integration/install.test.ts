// `npm ci` in a copy of this repository, as other versions of npm run it, and what it leaves behind.
//
// npm runs each script of a package with the shell that `script-shell` names; here that shell writes down who
// asked for it. Nobody but npm runs, so the registry that npm is given and the proxy that it must use for
// every other address see all that is fetched.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)
const ROOT = path.resolve(import.meta.dirname, '../..')
const LIMIT_MS = 10 * 60_000

/** What Node 22 brings, and Node 20 in another patch: it knows no list of allowed scripts. */
const NPM_10 = {
  spec: 'npm@10.9.4',
  sha512:
    'OnUG836FwboQIbqtefDNlyR0gTHzIfwRfE3DuiNewBvnMnWEpB0VEXwBlFVgqpNzIgYo/MHh3d2Hel/pszapAA==',
}

/** The environment that no `npm run` around this test has changed: no packaged Node first in PATH. */
function bareEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || /^npm_|^INIT_CWD$|^NODE$/i.test(name) ? [] : [[name, value] as const],
  )
  const paths = (process.env['PATH'] ?? '').split(path.delimiter)
  const PATH = paths.filter((folder) => !folder.includes('node_modules')).join(path.delimiter)
  return { ...Object.fromEntries(entries), PATH }
}

describe('npm ci', function () {
  this.timeout(LIMIT_MS)

  let folder: string
  let checkout: string
  let scriptsPath: string
  let registry: Server
  let proxy: Server
  let asked: string[]
  let env: Record<string, string>

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-install-'))
    checkout = path.join(folder, 'checkout')
    await copySources(checkout)
    scriptsPath = path.join(folder, 'scripts')
    const shell = path.join(folder, 'shell')
    const note = `echo "$npm_package_name $npm_lifecycle_event" >> ${scriptsPath}`
    await writeFile(shell, `#!/bin/sh\n${note}\nexec /bin/sh "$@"\n`, { mode: 0o755 })

    const upstream = (await run('npm', ['config', 'get', 'registry'])).stdout.trim()
    asked = []
    registry = await listen(async (url) => {
      asked.push(`registry ${url}`)
      const answer = await fetch(new URL(url.replace(/^\//, ''), upstream))
      return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) }
    })
    proxy = await listen((url) => {
      asked.push(`elsewhere ${url}`)
      return Promise.resolve({ status: 403, body: Buffer.alloc(0) })
    })
    proxy.on('connect', (request, socket) => {
      asked.push(`elsewhere ${request.url ?? ''}`)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    const proxyUrl = urlOf(proxy)
    env = {
      ...bareEnvironment(),
      http_proxy: proxyUrl,
      https_proxy: proxyUrl,
      no_proxy: '127.0.0.1',
      npm_config_registry: urlOf(registry),
      npm_config_replace_registry_host: 'always',
      npm_config_script_shell: shell,
      npm_config_prefer_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    }
  })

  beforeEach(async () => {
    asked.length = 0
    await writeFile(scriptsPath, '')
  })

  after(async () => {
    registry.close()
    proxy.close()
    await rm(folder, { recursive: true })
  })

  async function scriptsThatRan(): Promise<readonly string[]> {
    return (await readFile(scriptsPath, 'utf8')).split('\n').filter((line) => line !== '')
  }

  const elsewhere = (): readonly string[] => asked.filter((line) => !line.startsWith('registry '))

  it('would be seen to run a script, and to reach another address', async () => {
    const project = path.join(folder, 'project')
    await mkdir(project)
    const scripts = { postinstall: 'true' }
    const dependencies = { other: 'http://packages.example/other.tgz' }
    // Else npm asks the registry for what another address has.
    const plain = { ...env, npm_config_replace_registry_host: 'never' }

    await writeFile(
      path.join(project, 'package.json'),
      JSON.stringify({ name: 'project', scripts }),
    )
    await run('npm', ['install'], { cwd: project, env: plain })
    await writeFile(path.join(project, 'package.json'), JSON.stringify({ dependencies }))
    await run('npm', ['install'], { cwd: project, env: plain }).catch(() => undefined)

    expect(await scriptsThatRan()).to.deep.equal(['project postinstall'])
    expect(elsewhere().length).to.be.greaterThan(0)
  })

  it('runs no script and reaches nothing but the registry, by the npm of Node 20 and 22', async () => {
    const npm = await fetchNpm10(folder)

    await run('node', [npm, 'ci'], { cwd: checkout, env })

    expect(await scriptsThatRan()).to.deep.equal([])
    expect(elsewhere()).to.deep.equal([])
  })

  it('without development dependencies leaves a store that stores, and finds by words and by meaning', async () => {
    await run('npm', ['ci', '--omit=dev'], { cwd: checkout, env })
    const ran = await scriptsThatRan()

    const { stdout } = await run('npm', ['run', 'demo', '--', '--exit'], {
      cwd: checkout,
      env: { ...env, NO_COLOR: '1' },
    })

    expect(ran).to.deep.equal([])
    expect(elsewhere()).to.deep.equal([])
    expect(stdout).to.match(/"(?:match|query)": /)
    expect(stdout).to.match(/full_text \d[\d.]* · meaning \d/)
    expect(stdout).to.include('"inserted": 2')
  })
})

/** What a production image holds: no tests, no benchmarks. */
async function copySources(target: string): Promise<void> {
  await mkdir(target)
  const parts = ['.npmrc', 'package.json', 'package-lock.json', 'clients/typescript/package.json']
  for (const part of [...parts, 'bin', 'cli', 'door', 'inference', 'lib', 'node', 'openapi']) {
    await cp(path.join(ROOT, part), path.join(target, part), { recursive: true })
  }
}

async function fetchNpm10(folder: string): Promise<string> {
  const options = { cwd: folder, env: bareEnvironment() }
  const args = ['pack', NPM_10.spec, '--prefer-offline', '--json']
  const [{ filename }] = JSON.parse((await run('npm', args, options)).stdout)
  const bytes = await readFile(path.join(folder, filename))
  expect(createHash('sha512').update(bytes).digest('base64')).to.equal(NPM_10.sha512)
  await run('tar', ['-xzf', filename], options)
  return path.join(folder, 'package/bin/npm-cli.js')
}

interface Answer {
  readonly status: number
  readonly body: Buffer
}

async function listen(answer: (url: string) => Promise<Answer>): Promise<Server> {
  const server = createServer((request, response) => {
    answer(request.url ?? '/').then(
      ({ status, body }) => response.writeHead(status).end(body),
      (error: unknown) => response.writeHead(502).end(String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function urlOf(server: Server): string {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
}
