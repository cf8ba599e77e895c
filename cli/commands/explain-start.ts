// Explains a failed start of a server to the person who started it.

import { isServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import { ConfigurationError } from '../../lib/options.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { memberOf } from '../service/service-answers.ts'
import { isSystemError } from '../process/system-error.ts'

/** Refusals that the user can resolve by other settings or by file permissions. */
const RESOLVED_BY_SETTINGS: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'FORBIDDEN',
  'NOT_FOUND',
  'UNAVAILABLE',
])

/** The error to show. `portFlags` names the flags of the ports. Unexpected errors are returned as is. */
export function explainStart(error: unknown, portFlags: string): unknown {
  if (error instanceof ConfigurationError) return configurationError(error)
  const isResolvable = isServiceError(error) && RESOLVED_BY_SETTINGS.has(error.code)
  if (isResolvable) return configurationError(error)
  return isSystemError(error) ? configurationError(error, messageFor(error, portFlags)) : error
}

function messageFor(error: Error, portFlags: string): string {
  const host = String(memberOf(error, 'hostname') ?? memberOf(error, 'address'))
  const port = String(memberOf(error, 'port'))
  switch (memberOf(error, 'code')) {
    case 'EADDRINUSE':
      return `port ${port} is in use: stop the program that uses it, or choose other ports with ${portFlags}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `host ${host} is not known: give an address of this machine with --host`
    case 'EADDRNOTAVAIL':
      return `host ${host} is not an address of this machine: give one with --host`
    case 'EACCES':
      if (memberOf(error, 'syscall') !== 'listen') break
      return `this user may not listen on port ${port}: choose other ports with ${portFlags}`
    default:
  }
  return `cannot start: ${error.message}`
}

function configurationError(cause: Error, message = cause.message): CliError {
  return new CliError(EXIT.configuration, 'CONFIGURATION', message, { cause })
}
