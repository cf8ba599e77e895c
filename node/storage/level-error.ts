// Turns LevelDB's errors into ServiceErrors. LevelDB reports most errors as text, so this file
// matches text: the operating system's "No space left on device" arrives inside an "IO error:
// <file>: ..." line.

import { ServiceError, isServiceError } from '../../lib/errors.ts'

/**
 * Errors nest, because abstract-level wraps those of the binding. Deeper causes are not examined.
 */
const CAUSES_MAX = 4
/** In hexadecimal digits, of a key that is longer. */
const KEY_BYTES_SHOWN = 64
const NO_SPACE = /no space left|disk quota exceeded|ENOSPC|EDQUOT/i

interface CauseChain {
  readonly codes: readonly string[]
  readonly text: string
}

/** The ServiceError for a LevelDB error over `directory`. A ServiceError is returned unchanged. */
export function levelError(error: unknown, directory: string): ServiceError {
  if (isServiceError(error)) return error
  const { codes, text } = causeChainOf(error)
  const options = { cause: error }
  if (NO_SPACE.test(text)) {
    return new ServiceError(
      'DISK_FULL',
      `the disk is full: ${directory} could not be written; writes resume when there is room`,
      options,
    )
  }
  if (codes.includes('LEVEL_LOCKED')) {
    return new ServiceError(
      'UNAVAILABLE',
      `${directory} is held by another process, or by another part of this one; stop that first`,
      options,
    )
  }
  if (codes.includes('LEVEL_CORRUPTION')) {
    return new ServiceError(
      'CORRUPTION',
      `a file of ${directory} is damaged (${text}); restore it from a replica or a backup`,
      options,
    )
  }
  if (codes.some((code) => code.endsWith('_NOT_OPEN'))) return closedError(directory, options)
  return new ServiceError('UNAVAILABLE', `${directory} failed: ${text}`, options)
}

/**
 * Like `levelError`, for an opening that failed. The error of abstract-level says only that the database is not open;
 * its cause says why.
 */
export function openingError(error: unknown, directory: string): ServiceError {
  const isWrapped = error instanceof Error && error.cause instanceof Error
  return levelError(isWrapped && !isServiceError(error) ? error.cause : error, directory)
}

/** An entry of the database in `directory` that is not what was written. */
export function damagedEntry(directory: string, key: Uint8Array): ServiceError {
  const shown = Buffer.from(key.subarray(0, KEY_BYTES_SHOWN)).toString('hex')
  const rest = key.length > KEY_BYTES_SHOWN ? '…' : ''
  return new ServiceError(
    'CORRUPTION',
    `the entry ${shown}${rest} of ${directory} does not match its checksum; ` +
      'restore it from a replica or a backup',
  )
}

/** Whether opening failed because the directory is held. */
export function isLockedError(error: unknown): boolean {
  return causeChainOf(error).codes.includes('LEVEL_LOCKED')
}

/** The error of every method after `close`. */
export function closedError(directory: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('UNAVAILABLE', `${directory} is closed`, options)
}

function causeChainOf(error: unknown): CauseChain {
  const codes: string[] = []
  const texts: string[] = []
  let current = error
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    if ('code' in current && typeof current.code === 'string') codes.push(current.code)
    texts.push(current.message)
    current = current.cause
  }
  return { codes, text: texts.length === 0 ? String(error) : texts.join(': ') }
}
