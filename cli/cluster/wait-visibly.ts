// Waits until the cluster has done what was asked of it, and shows how far it is.

import { EXIT } from '../../lib/process/exit-codes.ts'
import type { CliContext } from '../process/context.ts'
import { CliError } from '../process/exit.ts'
import { fitProgress } from '../render/progress-bar.ts'
import type { ProgressTexts } from '../render/progress-bar.ts'
import { ProgressLine } from '../render/progress-line.ts'
import { printable } from '../../lib/process/log-words.ts'
import { ServiceRefusal, Unreachable } from '../service/api-client.ts'

const POLL_MS = 500
/** Where lines cannot be redrawn, a line is printed every 5 s at most. */
const LINE_PERIOD_MS = 5000
/** A node that restarts, or a controller that is replaced, answers again by then. */
const SILENCE_MAX_MS = 60_000
const PASSES = 503

/** How far it is. */
export interface Seen extends ProgressTexts {
  readonly isDone: boolean
}

/** What the wait is about. */
export interface Wait {
  /** Called again and again. An error other than of a server that is away for a moment ends the wait. */
  readonly look: (signal: AbortSignal) => Promise<Seen>
  /** What becomes of the work when nobody waits for it. */
  readonly afterwards: string
}

/** Resolves when it is done. Ctrl-C ends the wait, and not the work. */
export async function waitVisibly({ look, afterwards }: Wait, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  const shown = new ShownProgress(context)
  try {
    for (;;) {
      const seen = await shown.during(() => look(stop))
      if (seen?.isDone === true) return
      await context.clock.sleep(POLL_MS, stop)
    }
  } catch (error) {
    if (!stop.aborted) throw error
    throw new CliError(EXIT.refused, 'CANCELLED', `stopped waiting; ${afterwards}`)
  } finally {
    await shown.stop()
  }
}

class ShownProgress {
  readonly #context: CliContext
  readonly #line: ProgressLine | undefined
  #seen: ProgressTexts = { share: undefined, figures: ['waiting'] }
  #silentSinceMs: number | undefined
  #printed = ''
  #printedMs = -Infinity

  constructor(context: CliContext) {
    this.#context = context
    const { err } = context.terminal
    const text = (): string => fitProgress(err, this.#seen)
    this.#line = err.isTty ? new ProgressLine(err, context.clock, text) : undefined
  }

  /** Undefined if the server did not answer, which it may do for a while. */
  async during(look: () => Promise<Seen>): Promise<Seen | undefined> {
    try {
      const seen = await look()
      this.#silentSinceMs = undefined
      this.#show(seen)
      return seen
    } catch (error) {
      const isAway = error instanceof Unreachable
      if (!isAway && !(error instanceof ServiceRefusal && error.status === PASSES)) throw error
      const nowMs = this.#context.clock.monotonicMs()
      this.#silentSinceMs ??= nowMs
      if (nowMs - this.#silentSinceMs > SILENCE_MAX_MS) throw error
      this.#show({ ...this.#seen, note: `waiting for the server: ${error.message}` })
      return undefined
    }
  }

  async stop(): Promise<void> {
    await this.#line?.stop()
  }

  #show(seen: ProgressTexts): void {
    this.#seen = seen
    if (this.#line !== undefined) return this.#line.update()
    const text = printable([...seen.figures, seen.note].filter(Boolean).join(', '))
    const nowMs = this.#context.clock.monotonicMs()
    if (text === this.#printed || nowMs - this.#printedMs < LINE_PERIOD_MS) return undefined
    this.#printed = text
    this.#printedMs = nowMs
    this.#context.terminal.err.stream.write(`${text}\n`)
    return undefined
  }
}
