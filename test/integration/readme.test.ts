// The README from top to bottom, as somebody follows it: all commands of its shell blocks, in their
// order, in one shell and in a fresh copy of this checkout. Ports are free ones, given by environment.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { commandsIn } from '../support/readme-commands.ts'
import { freePorts, freePortsInARow } from '../support/servers/free-ports.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const COMMANDS = commandsIn(readFileSync(path.join(ROOT, 'README.md'), 'utf8'))
/** Commands that need what a test has not got. All others are run. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/npm test$|npm test /, 'is what runs this'],
  [/Xenova\//, 'needs a model from the hub'],
]
/** Several times what a busy machine takes. A command that hangs is named by what was printed until then. */
const SECONDS_MAX = 400
/** Servers run on beside the commands that follow them. */
const SERVERS = /quarry (?:swarm|inference|demo|cluster start)\b|npm run demo|npm start/

const PORTS = [
  'QUARRY_API_PORT',
  'QUARRY_HEALTH_PORT',
  'QUARRY_INFERENCE_PORT',
  'QUARRY_INFERENCE_HEALTH_PORT',
] as const

const NODES = 3
/** The first node of a cluster has the store's port, and the next nodes have the next ones. */
const FREE_PORTS = '--health-port 0 --peer-port 0 --etcd-port 0'

/** A server that is not ready yet answers 503, which clients repeat. */
const SHELL = String.raw`
set -emo pipefail
npm() { if [ "$1" = ci ]; then echo 'installed already'; else command npm "$@"; fi; }
curl() { command curl --silent --show-error --fail-with-body --retry 20 --retry-delay 1 "$@"; }
servers=()
stop() { for pid in "${'$'}{servers[@]}"; do kill -"$1" -- -"$pid" 2>/dev/null || true; done; }
trap 'stop KILL' EXIT
trap 'exit 1' TERM
# A reader ends the demo before starting the store, which takes its port.
serve() {
  if [ "$1" = alone ]; then
    stop INT
    for pid in "${'$'}{servers[@]}"; do
      for _ in {1..100}; do kill -0 -- -"$pid" 2>/dev/null || break; sleep 0.1; done
    done
    stop KILL; servers=()
  fi
  mkfifo "$2"; (eval "$3") > "$2" 2> "$2.log" & servers+=($!)
  exec {ready}< "$2"
  while read -r -u "$ready" line; do
    echo "$line"
    case "$line" in *'Ctrl-C'*|'{"event":"ready"'*) return;; esac
  done
  cat "$2.log"; return 1
}
`

function script(ports: Readonly<Record<string, string>>): string {
  const { QUARRY_API_PORT: api, QUARRY_INFERENCE_PORT: inference } = ports
  const steps = COMMANDS.map((command, at) => {
    if (whyNotRun(command) !== undefined) return ''
    const local = command
      .replace('cluster start', `cluster start --api-port ${api} ${FREE_PORTS}`)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${api}`)
      .replaceAll(
        /127\.0\.0\.1:808([123])/g,
        (_, node) => `127.0.0.1:${Number(api) + Number(node) - 1}`,
      )
      .replaceAll('127.0.0.1:11433', `127.0.0.1:${inference}`)
    const mode = /inference/.test(command) ? 'beside' : 'alone'
    const step = SERVERS.test(command) ? `serve ${mode} server-${at} ${quoted(local)}` : local
    return `echo; echo '::begin ${at}'\n${step}\necho; echo '::done ${at}'\n`
  })
  return SHELL + steps.join('')
}

function whyNotRun(command: string): string | undefined {
  return NOT_RUN.find(([pattern]) => pattern.test(command.replace(/\s+#.*$/, '')))?.[1]
}

function quoted(command: string): string {
  return `'${command.replaceAll("'", String.raw`'\''`)}'`
}

/** What is tracked or new here, and the packages that are installed. */
function copyCheckout(): string {
  const copy = mkdtempSync(path.join(tmpdir(), 'quarry-readme-'))
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT })
  for (const file of listed.stdout.toString().split('\0').filter(Boolean)) {
    cpSync(path.join(ROOT, file), path.join(copy, file), { force: true })
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'))
  git(copy, 'init', '--quiet')
  // .gitignore names the folder, and this is a link to one.
  writeFileSync(path.join(copy, '.git/info/exclude'), '/node_modules\n')
  git(copy, 'add', '--all')
  return copy
}

function git(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd })
  expect(status, stderr.toString()).to.equal(0)
  return stdout.toString()
}

describe('the README, followed from top to bottom', () => {
  let copy = ''
  let printed = ''
  let child: ReturnType<typeof spawn> | undefined

  before(async function () {
    this.timeout((SECONDS_MAX + 60) * 1000)
    copy = copyCheckout()
    const [api = 0] = await freePortsInARow(NODES)
    const free = [api, ...(await freePorts(PORTS.length - 1))]
    const ports = Object.fromEntries(PORTS.map((name, at) => [name, String(free[at])]))
    const env = { ...process.env, ...ports, QUARRY_URL: `http://127.0.0.1:${api}` }
    const options = { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'] as const }
    const shell = spawn('timeout', [`${SECONDS_MAX}`, 'bash', '-c', script(ports)], {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = shell
    const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr)])
    printed = `${out}\n${err}`
  })

  after(async () => {
    if (child?.exitCode === null) {
      child.kill()
      await once(child, 'close')
    }
    rmSync(copy, { recursive: true, force: true })
  })

  it('has commands, and each that is not run has a reason', () => {
    expect(COMMANDS.length).to.be.greaterThan(15)
    for (const [pattern, why] of NOT_RUN) {
      expect(
        COMMANDS.some((command) => whyNotRun(command) === why),
        String(pattern),
      ).to.equal(true)
    }
  })

  for (const [at, command] of COMMANDS.entries()) {
    if (whyNotRun(command) !== undefined) continue
    it(`does ${command.split('\n')[0]}`, () => {
      const [, shown = 'was not come to'] = printed.split(`::begin ${at}\n`)

      expect(printed.includes(`::done ${at}\n`), shown).to.equal(true)
    })
  }

  it('leaves nothing that git would add', () => {
    expect(git(copy, 'ls-files', '--others', '--modified', '--exclude-standard')).to.equal('')
  })

  it('prints the values that it promises', () => {
    expect(printed).to.include('Ctrl-C')
    expect(printed.toLowerCase()).to.include('x-service-version')
  })
})
