// What keeps a server from starting, said to the person who starts it.

import { isServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import { ConfigurationError } from '../../lib/options.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { memberOf } from '../service/service-answers.ts'
import { isSystemError } from '../process/system-error.ts'

/** Refusals that another setting mends: another directory, another host, leave to write there. */
const MENDED_BY_SETTINGS: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'FORBIDDEN',
  'NOT_FOUND',
  'UNAVAILABLE',
])

/** `portFlags` is what to choose other ports with. What is nobody's mistake is answered as it is. */
export function explainStart(error: unknown, portFlags: string): unknown {
  if (error instanceof ConfigurationError) return configurationError(error)
  if (isServiceError(error) && MENDED_BY_SETTINGS.has(error.code)) return configurationError(error)
  return isSystemError(error) ? configurationError(error, sayingOf(error, portFlags)) : error
}
function sayingOf(error: Error, portFlags: string): string {
  const host = String(memberOf(error, 'hostname') ?? memberOf(error, 'address'))
  const port = String(memberOf(error, 'port'))
  switch (memberOf(error, 'code')) {
    case 'EADDRINUSE':
      return `port ${port} is taken: stop what uses it, or choose others with ${portFlags}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `host ${host} is not known: name an address of this machine with --host`
    case 'EADDRNOTAVAIL':
      return `host ${host} is not an address of this machine: name one with --host`
    case 'EACCES':
      if (memberOf(error, 'syscall') !== 'listen') break
      return `port ${port} is not allowed to this user: choose others with ${portFlags}`
    default:
  }
  return `cannot start: ${error.message}`
}

function configurationError(cause: Error, message = cause.message): CliError {
  return new CliError(EXIT.configuration, 'CONFIGURATION', message, { cause })
}
