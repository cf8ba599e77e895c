// An inference server in a process of its own, all of whose threads are watched: how long they are
// held, and how much memory the server takes.

import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { readyLine } from './quarry-command.ts'

const BIN = path.resolve(import.meta.dirname, '../../../bin/quarry')
const WATCH = new URL('../slices/slice-watch.ts', import.meta.url)
const MIB = 1024 * 1024
/** What slice-watch.ts begins such a line with. */
const PRINTED = 'slice-watch '

/** Whose thread: the server's event loop, the thread of its built-in models, a worker process. */
export type WatchedRole = 'server' | 'thread' | 'worker'

export interface LongestTurn {
  readonly cpuMs: number
  /** Without collections of garbage. */
  readonly workMs: number
}

export class WatchedInference implements AsyncDisposable {
  readonly url: string
  readonly #child: ChildProcessWithoutNullStreams
  readonly #folder: string
  /** The lines of workers, which may write no files: `role-… cpu work`. */
  #printed: string[] = []

  private constructor(url: string, child: ChildProcessWithoutNullStreams, folder: string) {
    this.url = url
    this.#child = child
    this.#folder = folder
    createInterface(child.stderr).on('line', (line) => {
      if (line.startsWith(PRINTED)) this.#printed.push(line.slice(PRINTED.length))
    })
  }

  static async start(
    write: (modelsDir: string) => Promise<unknown>,
    env: Readonly<Record<string, string>> = {},
  ): Promise<WatchedInference> {
    const folder = await mkdtemp(path.join(tmpdir(), 'quarry-watched-'))
    const modelsDir = path.join(folder, 'models')
    const notes = await mkdtemp(path.join(folder, 'notes-'))
    await write(modelsDir)
    const ports = ['--port', '0', '--health-port', '0']
    const args = ['inference', ...ports, '--models-dir', modelsDir, '--log-level', 'error']
    const preload = `--import=${WATCH.href}?folder=${encodeURIComponent(notes)}`
    const child = spawn(process.execPath, [BIN, ...args], {
      env: { PATH: process.env['PATH'], NODE_OPTIONS: preload, ...env },
    })
    const { api } = await readyLine(child)
    return new WatchedInference(api, child, notes)
  }

  /** Forgets what was noted so far. */
  async mark(): Promise<void> {
    this.#printed = []
    for (const name of await readdir(this.#folder)) await truncate(path.join(this.#folder, name))
    // Writing 5 there sets the peak back to what is held now.
    writeFileSync(`/proc/${this.#child.pid}/clear_refs`, '5')
  }

  /** The longest turn since the mark of any thread in this role, by each measure. */
  async longestTurnMs(role: WatchedRole): Promise<LongestTurn> {
    const names = await readdir(this.#folder)
    const files = names.filter((name) => name.startsWith(`${role}-`))
    const texts = await Promise.all(
      files.map((name) => readFile(path.join(this.#folder, name), 'utf8')),
    )
    const printed = this.#printed.filter((line) => line.startsWith(`${role}-`))
    const turns = [
      ...texts.flatMap((text) => text.trimEnd().split('\n')),
      ...printed.map((line) => line.slice(line.indexOf(' ') + 1)),
    ]
    const longest = (at: number): number =>
      turns.reduce((ms, turn) => Math.max(ms, Number(turn.split(' ')[at] ?? 0)), 0)
    return { cpuMs: longest(0), workMs: longest(1) }
  }

  /** The most that the server's process held since the mark. */
  peakMib(): number {
    return this.#memoryMib('VmHWM')
  }

  heldMib(): number {
    return this.#memoryMib('VmRSS')
  }

  #memoryMib(name: string): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    const found = new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]
    return (Number(found) * 1024) / MIB
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await closed
    await rm(path.dirname(this.#folder), { recursive: true })
  }
}
