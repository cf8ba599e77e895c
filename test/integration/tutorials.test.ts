// README and the tutorials from top to bottom, as somebody follows them who types what is there: every command of
// their shell blocks, unchanged and in order, in a fresh copy of this checkout. Each server has a terminal of its own,
// and runs until the last page ends, or until a page says to press Ctrl-C; the other commands share one.
//
// All of it runs in a network namespace, where nobody else listens on the ports that pages and programs name.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { commandsIn, type TypedCommand } from '../support/page-commands.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** In the order in which a newcomer reads them. first-cluster.long.test.ts follows the tutorial that needs Kubernetes. */
const PAGES = [
  'README.md',
  'docs/tutorials/first-store.md',
  'docs/tutorials/search-by-meaning.md',
  'docs/how-to/load.md',
  'docs/tutorials/search-page.md',
  'docs/tutorials/models.md',
  'docs/tutorials/three-nodes.md',
]
const COMMANDS = PAGES.flatMap((page) => commandsIn(readFileSync(path.join(ROOT, page), 'utf8')))
/** Commands that cannot be run here. All others are. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [[/npm test$|npm test /, 'it runs this']]
/** Several times what a busy machine takes. A command that hangs is named by what was printed until then. */
const SECONDS_MAX = 600
/** What runs until somebody ends it, and as what program. */
const SERVERS: readonly (readonly [RegExp, string])[] = [
  [/npm run demo/, 'demo'],
  [/quarry swarm/, 'swarm'],
  [/quarry inference/, 'inference'],
  [/quarry cluster start/, 'cluster'],
]

const NEEDS =
  'this test follows README and tutorials in a network namespace of its own, with the ports that they name: ' +
  'it needs Linux, unshare (util-linux), ip (iproute2) and etcd, and root or user namespaces'
const HUB = path.join(ROOT, 'test/support/processes/hub-of-tutorials.ts')

/**
 * `npm ci` is left to install.test.ts: it fetches hundreds of packages, which the namespace cannot reach. curl prints
 * no progress and fails with a refusal, so that a refusal is seen here.
 */
const SHELL = String.raw`
set -emo pipefail
npm() { if [ "$1" = ci ]; then echo 'installed already'; else command npm "$@"; fi; }
curl() { command curl --silent --show-error --fail-with-body "$@"; }
declare -A terminals
terminal() { # PROGRAM NUMBER COMMAND: returns when the program says that it is ready
  mkfifo "server-$2"; (eval "$3") > "server-$2" 2> "server-$2.log" & terminals["$1"]=$!
  exec {ready}< "server-$2"
  while read -r -u "$ready" line; do
    echo "$line"
    case "$line" in *'Ctrl-C'*|'{"event":"ready"'*) return;; esac
  done
  cat "server-$2.log"; return 1
}
press_ctrl_c() { # PROGRAM
  kill -INT -- "-${'$'}{terminals["$1"]}"
  while kill -0 -- "-${'$'}{terminals["$1"]}" 2>/dev/null; do sleep 0.1; done
}
mkfifo server-hub; node ${HUB} > server-hub 2> server-hub.log &
read -r HF_ENDPOINT < server-hub; export HF_ENDPOINT
`

function script(): string {
  const started = new Set<string>()
  const steps = COMMANDS.map((command, at) => {
    if (whyNotRun(command) !== undefined) return ''
    const program = SERVERS.find(([pattern]) => pattern.test(command.text))?.[1]
    const isAgain = program !== undefined && started.has(program)
    if (program !== undefined) started.add(program)
    const before = isAgain && command.comment.includes('Ctrl-C') ? `press_ctrl_c ${program}\n` : ''
    const step =
      program === undefined ? command.text : `terminal ${program} ${at} ${quoted(command.text)}`
    return `echo; echo '::begin ${at}'\n${before}${step}\necho; echo '::done ${at}'\n`
  })
  return SHELL + steps.join('')
}

function whyNotRun({ text: typed }: TypedCommand): string | undefined {
  return NOT_RUN.find(([pattern]) => pattern.test(typed.replace(/\s+#.*$/, '')))?.[1]
}

function quoted(command: string): string {
  return `'${command.replaceAll("'", String.raw`'\''`)}'`
}

/** The command line that runs another in namespaces of its own, whose processes all end with it. */
function alone(command: readonly string[]): readonly [string, ...string[]] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  const own = [...asRoot, '--net', '--pid', '--mount-proc', '--fork', '--kill-child']
  const withLoopback = 'ip link set lo up && exec "$@"'
  return ['unshare', ...own, '--', 'sh', '-c', withLoopback, 'sh', ...command]
}

function expectNamespace(): void {
  const [program, ...args] = alone(['etcd', '--version'])
  const { status, error, stderr } = spawnSync(program, args)
  if (status !== 0) throw new Error(`${NEEDS}: ${error?.message ?? stderr.toString()}`)
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
  // .gitignore names the folder, and this is a link to one; the servers' pipes and logs are this test's.
  writeFileSync(path.join(copy, '.git/info/exclude'), '/node_modules\n/server-*\n')
  git(copy, 'add', '--all')
  return copy
}

function git(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd })
  expect(status, stderr.toString()).to.equal(0)
  return stdout.toString()
}

/** The environment of somebody who has set nothing of ours, and is not inside of npm. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.filter(([name]) => !/^(?:QUARRY_|npm_|HF_)/.test(name)))
}

describe('README and the tutorials, followed from top to bottom', () => {
  let copy = ''
  let printed = ''
  let child: ReturnType<typeof spawn> | undefined

  before(async function () {
    this.timeout((SECONDS_MAX + 60) * 1000)
    expectNamespace()
    copy = copyCheckout()
    const [program, ...args] = alone(['timeout', `${SECONDS_MAX}`, 'bash', '-c', script()])
    const shell = spawn(program, args, {
      cwd: copy,
      env: plainEnvironment(),
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
    if (copy !== '') rmSync(copy, { recursive: true, force: true })
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

  it('starts every server', () => {
    for (const [pattern, program] of SERVERS) {
      expect(
        COMMANDS.some((command) => pattern.test(command.text)),
        program,
      ).to.equal(true)
    }
  })

  for (const [at, command] of COMMANDS.entries()) {
    if (whyNotRun(command) !== undefined) continue
    it(`does ${command.text.split('\n')[0]}`, () => {
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
