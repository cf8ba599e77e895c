// The limits of keys and documents. Larger ones are refused before they reach a shard.

import { ServiceError } from '../../lib/errors.ts'
import { JsonScanner } from './json-scanner.ts'
import type { Sliced } from '../../lib/sliced.ts'

export const KEY_BYTES_MAX = 1024
export const DOCUMENT_BYTES_MAX = 10 * 1024 * 1024

const SHOWN_KEY_LENGTH_MAX = 64

/** The bytes of a key. The caller adds the place of the key to a refusal (`at`). */
export function parseDocumentKey(text: string): Buffer {
  if (!text.isWellFormed()) refuse('key is not valid Unicode')
  const key = Buffer.from(text, 'utf8')
  assertKeySize(key.length)
  return key
}

export function assertKeySize(keyBytes: number): void {
  if (keyBytes === 0) refuse('key must not be empty')
  if (keyBytes > KEY_BYTES_MAX) {
    refuse(`key has ${keyBytes} bytes of UTF-8; the maximum is ${KEY_BYTES_MAX}`)
  }
}

/**
 * Checks a document that a transform computed. The walk over a request body checks its own
 * documents.
 */
export function* checkDocumentLimits(json: Buffer): Sliced<void> {
  assertDocumentSize(json.length)
  yield* new JsonScanner(json).scanValueSliced()
}

export function assertDocumentSize(jsonBytes: number): void {
  if (jsonBytes <= DOCUMENT_BYTES_MAX) return
  refuse(`document has ${jsonBytes} bytes; the maximum is ${DOCUMENT_BYTES_MAX}`)
}

/** A key as messages show it: in quotes, and cut if it is long. */
export function shownKey(key: string): string {
  return JSON.stringify(
    key.length <= SHOWN_KEY_LENGTH_MAX ? key : `${key.slice(0, SHOWN_KEY_LENGTH_MAX)}...`,
  )
}

/** Runs `read`. Puts `where` in front of the message of a refusal. */
export function at<T>(where: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw located(where, error)
  }
}

/** A refusal with `where` in front of its message. Any other error is returned unchanged. */
export function located(where: string, error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error
  return new ServiceError(error.code, `${where}: ${error.message}`, { cause: error })
}

function refuse(problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', problem)
}
