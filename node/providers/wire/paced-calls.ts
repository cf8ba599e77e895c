import type { Clock } from '../../../lib/clock.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import type { PromptPart, ShownMedium } from '../contract/provider.ts'
import { ITEM_BYTES_MAX, bytesOfItem } from '../embedding/item-batches.ts'
import { ProviderPace } from '../embedding/provider-pace.ts'

const LIMITS = { inFlightMax: 4, bytesMax: 32 * 1024 * 1024 }

/** Runs the calls of one generator, reranker or chunker: at its pace, and until it is closed. */
export class PacedCalls {
  readonly name: string
  readonly #pace: ProviderPace
  readonly #closing = new AbortController()

  constructor(name: string, clock: Clock) {
    this.name = name
    this.#pace = new ProviderPace(LIMITS, clock)
  }

  /** `bytes` is what is sent. An urgent call is a part of somebody's query. */
  async run<Answer>(
    call: { readonly bytes: number; readonly isUrgent: boolean; readonly signal: AbortSignal },
    work: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason
    const signal = AbortSignal.any([call.signal, this.#closing.signal])
    return this.#pace.run({ ...call, name: this.name, signal }, () => work(signal))
  }

  close(): void {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(unavailable(`${this.name}: it is closed`))
  }
}

const NAMES: Readonly<Record<ShownMedium, string>> = {
  image: 'images',
  audio: 'sounds',
  video: 'films',
}

/** Refuses media that a model cannot see or hear, and prompts of nothing. */
export function checkParts(
  parts: readonly PromptPart[],
  { name, accepts }: { readonly name: string; readonly accepts: readonly ShownMedium[] },
): void {
  if (parts.length === 0) throw refused(`${name}: the prompt has no parts`)
  const bytes = bytesOfItem(parts)
  if (bytes > ITEM_BYTES_MAX) {
    throw refused(`${name}: the prompt has ${bytes} bytes; up to ${ITEM_BYTES_MAX} are sent`)
  }
  for (const { kind } of parts) {
    if (kind === 'text' || accepts.includes(kind)) continue
    const readable = ['texts', ...accepts.map((medium) => NAMES[medium])].join(' and ')
    throw refused(
      `${name}: this provider's models read only ${readable}; use another provider for ${NAMES[kind]}`,
    )
  }
}
