import { ServiceError } from '../../lib/errors.ts'

/** INVALID_ARGUMENT that names the line and the column, both from 1, of an offset in the source. */
export function syntaxError(source: string, offset: number, why: string): ServiceError {
  const before = source.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  return new ServiceError('INVALID_ARGUMENT', `template: line ${line}, column ${column}: ${why}`)
}

/** INVALID_ARGUMENT for data that a template cannot be rendered with. */
export function renderError(why: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `template: ${why}`)
}
