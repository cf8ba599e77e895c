// A server that is started again whenever it ends, and ended when it stops answering.
//
// On Kubernetes a container that does not run takes its whole pod out of the Services. An inference server that ends again
// and again would so take the node beside it from its clients. Below this parent its container runs all the same.
//
// Invariants:
//   SUP1  There is one process of the server at a time.
//   SUP2  One that ends is followed by another, after a pause that grows while none of them lasts.
//   SUP3  One that is not ready in time, or that was ready and answers nothing any more, is killed.
//   SUP4  When the supervisor is asked to end, it ends the process in order, and starts no other.

import { backoffDelayMs } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'

const PAUSES = { baseMs: 1000, capMs: 60_000, retriesMax: Number.MAX_SAFE_INTEGER }
/** A process that lasted this long ends a row of failures. */
const STEADY_MS = 10 * 60_000
const LOOK_MS = 10_000
const SILENT_LOOKS_MAX = 6

/** A running process of the server, such as a Child. */
export interface SupervisedProcess {
  /** Resolves with a sentence part such as `ended with code 1`, also if it could not be started. */
  readonly ended: Promise<string>
  terminate(): unknown
  kill(): void
}

/** How the server is started and asked. The answers never reject. */
export interface SupervisedServer {
  start(): SupervisedProcess
  /** Whether it has done what it does before it serves. */
  isReady(): Promise<boolean>
  /** Whether it answers at all. */
  isAlive(): Promise<boolean>
}

/** What is supervised, and by whose time. */
export interface SupervisorOptions {
  readonly server: SupervisedServer
  /** What a start may take. */
  readonly readyWithinMs: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Resolves when `stop` has aborted and the last process has ended. */
export async function supervise(options: SupervisorOptions, stop: AbortSignal): Promise<void> {
  const { clock, random, log } = options
  let failures = 0
  while (!stop.aborted) {
    const begunMs = clock.monotonicMs()
    const end = await runOnce(options, stop)
    if (stop.aborted) return
    const lastedMs = Math.round(clock.monotonicMs() - begunMs)
    failures = lastedMs >= STEADY_MS ? 0 : failures + 1
    const pauseMs = Math.round(backoffDelayMs(PAUSES, Math.max(0, failures - 1), random))
    log.error('the server ended; another one is started', { end, lastedMs, pauseMs })
    await clock.sleep(pauseMs, stop).catch(() => undefined)
  }
}

/** SUP1. Answers how the process ended. */
async function runOnce(options: SupervisorOptions, stop: AbortSignal): Promise<string> {
  const running = options.server.start()
  const over = new AbortController()
  const onStop = (): void => void running.terminate()
  stop.addEventListener('abort', onStop)
  const watching = watch(options, running, AbortSignal.any([over.signal, stop]))
  try {
    return await running.ended
  } finally {
    over.abort()
    stop.removeEventListener('abort', onStop)
    await watching
  }
}

/** SUP3. */
async function watch(
  { server, readyWithinMs, clock, log }: SupervisorOptions,
  running: SupervisedProcess,
  over: AbortSignal,
): Promise<void> {
  const begunMs = clock.monotonicMs()
  let wasReady = false
  let silentLooks = 0
  for (;;) {
    await clock.sleep(LOOK_MS, over).catch(() => undefined)
    if (over.aborted) return
    if (wasReady) silentLooks = (await server.isAlive()) ? 0 : silentLooks + 1
    else wasReady = await server.isReady()
    if (over.aborted) return
    const isLate = !wasReady && clock.monotonicMs() - begunMs >= readyWithinMs
    if (!isLate && silentLooks < SILENT_LOOKS_MAX) continue
    log.error('the server is killed', {
      reason: isLate ? 'it was not ready in time' : 'it does not answer any more',
    })
    return running.kill()
  }
}
