// Has a model describe what a document shows, so that a model of texts can embed it.

import type { Clock } from '../../../lib/clock.ts'
import type { Generator, PromptPart } from '../../providers/contract/provider.ts'
import { isProviderError } from '../../providers/contract/provider-error.ts'
import { askFairly } from './ask-fairly.ts'
import { AwayError } from './away-error.ts'

const INSTRUCTION: PromptPart = {
  kind: 'text',
  text:
    'Describe in plain sentences what the following shows or says, so that somebody who looks for it finds it by ' +
    'your words. Name the things, people, places, actions and texts that can be seen or heard. Answer with the ' +
    'description alone.',
}
const HARMLESS: readonly PromptPart[] = [{ kind: 'text', text: 'Answer with the word: yes' }]

/** Eight failures in a row are not about what was shown: eight sources are prepared at once. */
const FAILURES_MAX = 8
/** How long nobody is asked then, so that sources behind those need not wait for a model that hangs. */
const SILENCE_MS = 10_000

/** Whether a summarizer is asked about the parts: texts alone need none. */
export function needsSummary(parts: readonly PromptPart[]): boolean {
  return parts.some(({ kind }) => kind !== 'text')
}

/** The summarizer of an index. */
export class Summarizer {
  readonly #generator: Generator
  readonly #clock: Clock
  #failures = 0
  #silent: { readonly untilMs: number; readonly error: AwayError } | undefined

  constructor(generator: Generator, clock: Clock) {
    this.#generator = generator
    this.#clock = clock
  }

  /** The description. Rejects as `askFairly` does, but with an AwayError where the model gives no good answer. */
  async describe(parts: readonly PromptPart[], signal: AbortSignal): Promise<string> {
    if (this.#silent && this.#clock.monotonicMs() < this.#silent.untilMs) throw this.#silent.error
    try {
      const text = await summarize(this.#generator, parts, signal)
      this.#failures = 0
      return text
    } catch (error) {
      signal.throwIfAborted()
      if (!isProviderError(error) || error.failure.kind !== 'unavailable') throw error
      throw this.#failed(new AwayError('summarizer', error.message, error))
    }
  }

  #failed(error: AwayError): AwayError {
    this.#failures += 1
    if (this.#failures >= FAILURES_MAX) {
      this.#silent = { untilMs: this.#clock.monotonicMs() + SILENCE_MS, error }
    }
    return error
  }
}

async function summarize(
  generator: Generator,
  parts: readonly PromptPart[],
  signal: AbortSignal,
): Promise<string> {
  const shown = parts.filter((part) => part.kind !== 'text' || part.text.trim() !== '')
  const text = await askFairly(
    () => generator.generate([INSTRUCTION, ...shown], { signal }),
    () => generator.generate(HARMLESS, { signal }),
  )
  return text.trim()
}
