// Programs that a test runs to their end: kubectl, helm, the scripts of test/e2e/kube.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const MINUTE_MS = 60_000

export interface ProgramOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  /** The working directory; absent: that of this process. */
  readonly cwd?: string
  /** A program that has not ended by then is killed. */
  readonly limitMs?: number
}

/** A program ended with another code than 0, or was killed. */
export class ProgramFailure extends Error {
  readonly stdout: string
  readonly stderr: string

  constructor(command: string, output: { readonly stdout: string; readonly stderr: string }) {
    super(`${command}\n${output.stderr}${output.stdout}`.trimEnd())
    this.stdout = output.stdout
    this.stderr = output.stderr
  }
}

/** What a program prints; a failure of it is a ProgramFailure with both of its outputs. */
export async function outputOf(
  [program, ...args]: readonly [string, ...string[]],
  { input = '', env = {}, cwd = '.', limitMs = 3 * MINUTE_MS }: ProgramOptions = {},
): Promise<string> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env } })
  const ended = once(child, 'close')
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  // A program that ends before it has read its input says why in its own words.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  try {
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      ended,
    ])
    if (code === 0) return stdout
    const end = signal === null ? '' : ` (ended by ${String(signal)})`
    throw new ProgramFailure(`${[program, ...args].join(' ')}${end}`, { stdout, stderr })
  } finally {
    clearTimeout(limit)
  }
}
