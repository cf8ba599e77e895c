import { messageOf } from '../../lib/errors.ts'

/** The reason for a server's end, for its log: the name of the signal, or a failed start. */
export function reasonOf(stop: AbortSignal): string {
  return stop.aborted ? messageOf(stop.reason) : 'the start failed'
}
