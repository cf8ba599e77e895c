// What LevelDB's errors mean to us. LevelDB reports most trouble as text, so text is what we match:
// the operating system's "No space left on device" arrives inside an "IO error: <file>: ..." line.

import { ServiceError, isServiceError } from '../../lib/errors.ts'

/** Failures nest: abstract-level wraps what the binding said. Deeper than this is not looked at. */
const CAUSES_MAX = 4
const NO_SPACE = /no space left|disk quota exceeded|ENOSPC|EDQUOT/i

interface Trouble {
  readonly codes: readonly string[]
  readonly text: string
}

/** The ServiceError for a failure of LevelDB over `directory`; one that is ours passes unchanged. */
export function levelError(error: unknown, directory: string): ServiceError {
  if (isServiceError(error)) return error
  const { codes, text } = troubleOf(error)
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
      `another process or another part of this one holds ${directory}; stop it first`,
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

/** Whether opening failed because someone else holds the directory. */
export function isLockedError(error: unknown): boolean {
  return troubleOf(error).codes.includes('LEVEL_LOCKED')
}

export function closedError(directory: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('UNAVAILABLE', `${directory} is closed`, options)
}

function troubleOf(error: unknown): Trouble {
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
