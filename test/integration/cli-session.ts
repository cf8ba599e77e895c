// Runs command lines in this process, with a terminal that is read afterwards.

import { PassThrough, Readable, Writable } from 'node:stream'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Env } from '../../lib/env.ts'
import { seededRandom } from '../../lib/random.ts'
import type { CliContext } from '../../cli/process/context.ts'
import { runCli } from '../../cli/run-cli.ts'
import type { Output } from '../../cli/process/terminal.ts'

export interface CliRun {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface CliSetting {
  readonly url: string
  readonly stdin?: string
  readonly isTty?: boolean
  readonly columns?: number
  readonly color?: boolean
  readonly env?: Env
}

/** A clock on which every sleep is over at once. */
export class ImpatientClock extends ManualClock {
  readonly sleptMs: number[] = []

  override sleep(ms: number): Promise<void> {
    this.sleptMs.push(ms)
    this.advance(ms)
    return Promise.resolve()
  }
}

export async function runCommand(
  args: readonly string[],
  setting: CliSetting,
  clock: Clock = systemClock,
): Promise<CliRun> {
  const out = new Collector()
  const err = new Collector()
  const context: CliContext = {
    terminal: {
      stdin: setting.stdin === undefined ? new PassThrough().end() : Readable.from([setting.stdin]),
      stdinIsTty: setting.isTty ?? false,
      out: output(out, setting),
      err: output(err, { ...setting, isTty: false }),
    },
    settings: { url: setting.url, noColor: false, parentPipe: undefined },
    env: setting.env ?? {},
    clock,
    random: seededRandom(1),
    stopSignal: () => new AbortController().signal,
    onHangup: () => () => undefined,
  }
  const exitCode = await runCli(args, context)
  return { exitCode, stdout: out.text, stderr: err.text }
}

function output(stream: Writable, { isTty, columns, color }: CliSetting): Output {
  return { stream, isTty: isTty ?? false, columns: columns ?? 80, color: color ?? false }
}

class Collector extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}
