// The common parts of all commands that call a service.

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { ApiClient } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'

/** The options of every command that calls a service. */
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

/** A client of the service that `--url` names. */
export function openClient({ url }: ClientOptions, { settings }: CliContext): ApiClient {
  return new ApiClient(url, settings.url)
}

/** A parser for commander: an option whose value is an integer from `min` to `max`. */
export function integerOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Give an integer from ${min} to ${max}.`)
  }
}

/** A parser for commander: an option that may be repeated. */
export function collectOption(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** Examples for the end of a command's help: each has a comment and a command line. */
export function examples(...lines: readonly (readonly [what: string, command: string])[]): string {
  return `\nExamples:\n${lines.map(([what, command]) => `  # ${what}\n  ${command}`).join('\n\n')}\n`
}

/** The option of reads that any replica may answer. */
export const STALE_OPTION = [
  '--stale',
  'let any replica answer: as it was a moment ago, also while leaders are away',
] as const

/** The path of a read with that option. */
export function withConsistency(path: string, { stale }: { readonly stale?: boolean }): string {
  return stale === true ? `${path}?consistency=stale` : path
}
