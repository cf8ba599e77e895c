// What keeps a server from starting, said to the person who starts it.

import { isServiceError } from '../lib/errors.ts'
import { CliError, EXIT } from './exit.ts'
import { memberOf } from './service-answers.ts'

/** `portFlags` is what to choose other ports with. What is nobody's mistake is answered as it is. */
export function explainStart(error: unknown, portFlags: string): unknown {
  if (!(error instanceof Error)) return error
  if (error.message.startsWith('invalid configuration')) return configurationError(error.message)
  if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') {
    return configurationError(error.message)
  }
  if (memberOf(error, 'code') !== 'EADDRINUSE') return error
  const port = memberOf(error, 'port')
  const remedy = `stop what uses it, or choose others with ${portFlags}`
  return configurationError(`port ${String(port)} is taken: ${remedy}`)
}

function configurationError(message: string): CliError {
  return new CliError(EXIT.configuration, 'CONFIGURATION', message)
}
