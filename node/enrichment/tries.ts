// What has happened to one document that a model should see.

import type { TroubleKind } from './provider-trouble.ts'

/** A document is parked after this number of calls that failed as a whole. */
export const ATTEMPTS_MAX = 10
/** A model that is away is asked without end; the time between two attempts stops growing after this number of them. */
export const MODEL_ATTEMPTS_MAX = 5

/** From then on it goes alone, so that it fails no other document's call. */
const ALONE_FROM = 3

/** The failed calls that carried one document. */
export interface Tries {
  readonly attempts: number
  /** How many calls of the index had succeeded before the first of them. */
  readonly answersBefore: number
  /** Whether a provider that wanted fewer calls was all that stood in the way. */
  readonly isLimitedOnly: boolean
}

export const NO_TRIES: Tries = { attempts: 0, answersBefore: 0, isLimitedOnly: true }

/** `answers`: how many calls of the index have succeeded by now. */
export function withFailure(tries: Tries, kind: TroubleKind, answers: number): Tries {
  if (kind === 'unfit') return tries // says nothing about the document
  return {
    attempts: tries.attempts + 1,
    answersBefore: tries.attempts === 0 ? answers : tries.answersBefore,
    isLimitedOnly: tries.isLimitedOnly && kind === 'limited',
  }
}

export function goesAlone({ attempts }: Tries): boolean {
  return attempts >= ALONE_FROM
}

/** Whether the document is at fault: others were answered while it failed each time. */
export function isAtFault({ answersBefore, isLimitedOnly }: Tries, answers: number): boolean {
  return !isLimitedOnly && answers > answersBefore
}
