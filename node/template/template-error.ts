import { ServiceError } from '../../lib/errors.ts'

/** A place in a template: the line from 1, and the column from 0. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** INVALID_ARGUMENT that names the line and the column, both from 1. */
export function syntaxError({ line, column }: Place, why: string): ServiceError {
  const message = `template: line ${line}, column ${column + 1}: ${why}`
  return new ServiceError('INVALID_ARGUMENT', message)
}

/** INVALID_ARGUMENT for data that a template cannot be rendered with. */
export function renderError(why: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `template: ${why}`)
}
