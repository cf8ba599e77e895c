import { messageOf } from '../../lib/errors.ts'

/** Why a server ends, for its log: the signal that it was sent. */
export function reasonOf(stop: AbortSignal): string {
  return stop.aborted ? messageOf(stop.reason) : 'the start did not come to its end'
}
