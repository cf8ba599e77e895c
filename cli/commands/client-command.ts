// What every command that talks to a service has in common.

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { ApiClient } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'

export interface ClientOptions {
  readonly url: string
  readonly json?: boolean
}

/** Adds the options that `openClient` reads. */
export function clientCommand(command: Command, context: CliContext): Command {
  return command
    .option('--url <url>', 'the service (environment: QUARRY_URL)', context.settings.url)
    .option('--json', 'print JSON, one value per line, for programs')
}

export function openClient(options: ClientOptions): ApiClient {
  return new ApiClient(options.url)
}

/** For commander: an option that is an integer from `min` to `max`. */
export function integerOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Give an integer from ${min} to ${max}.`)
  }
}

/** For commander: an option that may be given several times. */
export function collectOption(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** Examples below a command's help: each says what it does, then how. */
export function examples(...lines: readonly (readonly [what: string, command: string])[]): string {
  return `\nExamples:\n${lines.map(([what, command]) => `  # ${what}\n  ${command}`).join('\n\n')}\n`
}
