// bin/quarry as a person runs it: processes in a folder of the test's own, none of which outlives it.

import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

const BIN = path.resolve(import.meta.dirname, '../../../bin/quarry')

export class CommandFolder implements AsyncDisposable {
  readonly path: string
  readonly #started: ChildProcessWithoutNullStreams[] = []

  private constructor(folder: string) {
    this.path = folder
  }

  static async open(): Promise<CommandFolder> {
    return new CommandFolder(await mkdtemp(path.join(tmpdir(), 'quarry-command-')))
  }

  /** `preload` is a script that node runs before the command. */
  quarry(args: readonly string[], preload?: string): ChildProcessWithoutNullStreams {
    const nodeArgs = preload === undefined ? [] : ['--require', preload]
    // A group of its own, so that a test can signal all of it, as a terminal does.
    const options = { cwd: this.path, detached: true }
    const child = spawn(process.execPath, [...nodeArgs, BIN, ...args], options)
    this.#started.push(child)
    return child
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#started) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'close')
      }
    }
    await rm(this.path, { recursive: true })
  }
}

/** Where a server serves, by its own words. */
export interface ReadyLine {
  readonly event: string
  readonly api: string
  readonly health: string
  readonly inference?: string
  readonly inference_health?: string
}

export async function readyLine(child: ChildProcessWithoutNullStreams): Promise<ReadyLine> {
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return JSON.parse(line)
}

/** The lines of a server's log; others that it writes to standard error are passed over. */
export function parseLog(log: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = log.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
}

/** All that a process writes to standard output and standard error until it ends. */
export async function output(child: ChildProcessWithoutNullStreams): Promise<[string, string]> {
  const [out, err] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return [out, err]
}
