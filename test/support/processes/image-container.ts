// A program in the unpacked tree of an image, as a container runs it: processes and mounts of its own, a root that
// cannot be written, the user of the image, and two places that can be written. Its network is that of this machine.
// Only root may do this.

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { chownSync } from 'node:fs'
import { must } from '../../../lib/assert.ts'
import { until } from '../until.ts'
import { readyLine, type ReadyLine } from './quarry-command.ts'

const USER = 10_001
/** `$1` is the tree, `$2` the directory of the data; the rest is the command, which takes the place of this shell. */
const CONTAIN = `
set -e
root=$1 data=$2; shift 2
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$data" "$root/var/lib/quarry"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
exec chroot --userspec=${USER}:${USER} "$root" "$@"
`
const ISOLATE = ['--mount', '--pid', '--fork', 'sh', '-c', CONTAIN, 'contain']
const ENTRY_POINT = ['/usr/bin/tini', '--', '/usr/local/bin/quarry']

export interface ContainerOptions {
  /** The unpacked image. */
  readonly tree: string
  readonly dataDir: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Instead of the image's own. */
  readonly entryPoint?: readonly string[]
}

export interface ContainerEnding {
  readonly exitCode: number | null
  readonly output: string
  readonly log: string
}

export class ImageContainer implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams
  #output = ''
  #log = ''
  readonly ended: Promise<ContainerEnding>

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    child.stdout.on('data', (text) => void (this.#output += String(text)))
    child.stderr.on('data', (text) => void (this.#log += String(text)))
    this.ended = once(child, 'close').then(([exitCode]) => ({
      exitCode,
      output: this.#output,
      log: this.#log,
    }))
  }

  static async run(options: ContainerOptions): Promise<ImageContainer> {
    const { tree, dataDir, args, entryPoint = ENTRY_POINT } = options
    await mkdir(dataDir, { recursive: true })
    chownSync(dataDir, USER, USER)
    const env = {
      PATH: '/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin',
      NODE_ENV: 'production',
      XDG_CACHE_HOME: '/tmp',
      ...options.env,
    }
    const command = [...ISOLATE, tree, dataDir, ...entryPoint, ...args]
    return new ImageContainer(spawn('unshare', command, { env }))
  }

  /** Where its server serves. Rejects with its log if it ends instead. */
  ready(): Promise<ReadyLine> {
    const failed = this.ended.then((ending): never => {
      throw new Error(`the container ended before it was ready: ${JSON.stringify(ending)}`)
    })
    return Promise.race([readyLine(this.#child), failed])
  }

  get log(): string {
    return this.#log
  }

  /** To its first process, from outside, as a kubelet sends it. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    process.kill(await this.firstProcess(), signal)
  }

  async firstProcess(): Promise<number> {
    const pid = must(this.#child.pid, 'a process')
    await until(async () => this.#child.exitCode !== null || (await childrenOf(pid)).length > 0)
    return must((await childrenOf(pid))[0], 'the first process')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Not the one that made the namespaces: its death does not reach a process that has changed its user.
    if (this.#child.exitCode === null) await this.signal('SIGKILL')
    await this.ended
  }
}

export interface SeenProcess {
  readonly pid: number
  readonly state: string
  readonly command: string
}

/** All processes below one, as /proc shows them now. */
export async function processesBelow(pid: number): Promise<readonly SeenProcess[]> {
  const children = await childrenOf(pid)
  const below = await Promise.all(
    children.map(async (child) => [await seen(child), ...(await processesBelow(child))]),
  )
  return below.flat().filter((each) => each !== undefined)
}

async function childrenOf(pid: number): Promise<number[]> {
  try {
    const threads = await readdir(`/proc/${pid}/task`)
    const lists = await Promise.all(
      threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8')),
    )
    return lists.flatMap((list) => list.split(' ').filter((each) => each.trim() !== '')).map(Number)
  } catch {
    return [] // it has ended
  }
}

async function seen(pid: number): Promise<SeenProcess | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
    return { pid, state: stat.slice(stat.lastIndexOf(')') + 2).slice(0, 1), command }
  } catch {
    return undefined
  }
}
