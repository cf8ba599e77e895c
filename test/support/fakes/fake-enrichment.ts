// An enrichment whose model is in this process: it embeds the field `text`, and fails as it is told.

import { createHash } from 'node:crypto'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import type {
  Enrichment,
  Made,
  MakeOptions,
  Source,
  SourceDocument,
} from '../../../node/enrichment/enrichment.ts'
import type { AwayPart } from '../../../node/enrichment/prepare/away-error.ts'
import { ProviderError, unavailable } from '../../../node/providers/contract/provider-error.ts'
import { REFUSED_MARK, type ModelFault } from '../../conformance/enrichment.ts'

/** A call that carries a text with it fails as a whole, each time. */
export const POISON_MARK = 'poison'

/** A text with it names a file, which is described, and is not there while the model has `isFileAway`. */
export const FILE_MARK = 'file'

const DIMENSION = 4

/** How a fake is made. */
export interface FakeEnrichmentOptions {
  readonly index?: string
  readonly clock: Clock
  readonly batch?: Enrichment['batch']
}

/** What the model was asked, over the lives of all enrichments that share it. */
export class FakeModel {
  fault: ModelFault | undefined
  callMs = 0
  isFileAway = false
  awayPart: AwayPart = 'file'
  /** How often a file was looked for that was not there. */
  missed = 0
  /** Texts of calls that succeeded. */
  readonly embedded = new Map<string, number>()
  /** The count of texts in each call, failed ones included. */
  readonly calls: number[] = []
  running = 0
  runningMax = 0

  vectorOf(text: string): readonly number[] {
    return [...createHash('sha256').update(text).digest().subarray(0, DIMENSION)]
  }
}

/** Embeds with a fake model. */
export class FakeEnrichment implements Enrichment {
  readonly index: string
  readonly batch: Enrichment['batch']
  readonly model: FakeModel
  readonly #clock: Clock

  constructor(
    {
      index = '0123456789abcdef',
      clock,
      batch = { items: 64, bytes: 1024 * 1024 },
    }: FakeEnrichmentOptions,
    model: FakeModel = new FakeModel(),
  ) {
    this.index = index
    this.batch = batch
    this.model = model
    this.#clock = clock
  }

  async sourceOf({ json }: SourceDocument, { signal }: MakeOptions): Promise<Source> {
    signal.throwIfAborted()
    const { text = null }: { readonly text?: unknown } = JSON.parse(json.toString())
    if (text !== null && typeof text !== 'string') {
      throw new ServiceError('INVALID_ARGUMENT', 'the field text is not a string')
    }
    const embedded = text?.trim() ?? ''
    return {
      parts: embedded === '' ? [] : [{ kind: 'text', text: embedded }],
      hash: hashOf(embedded),
      bytes: embedded.length,
    }
  }

  async make(sources: readonly Source[], { signal }: MakeOptions): Promise<readonly Made[]> {
    signal.throwIfAborted()
    const { model } = this
    const texts = sources.flatMap(textOf)
    if (texts.length > 0) model.calls.push(texts.length)
    model.running += 1
    model.runningMax = Math.max(model.runningMax, model.running)
    try {
      if (texts.length > 0) await this.#answer(texts, signal)
    } finally {
      model.running -= 1
    }
    return sources.map((source) => this.#made(source))
  }

  async close(): Promise<void> {}

  /** Rejects where the call fails. */
  async #answer(texts: readonly string[], signal: AbortSignal): Promise<void> {
    const { model } = this
    if (model.callMs > 0) await this.#clock.sleep(model.callMs, signal)
    if (model.fault === 'silent') await unlessAborted(new Promise<never>(() => undefined), signal)
    if (model.fault === 'unavailable') throw unavailable('fake model: not there')
    if (model.fault === 'rate-limited') {
      throw new ProviderError({ kind: 'rate_limited' }, 'fake model: too many calls')
    }
    if (model.fault === 'other-dimension') {
      const problem = 'fake model: it answers vectors of 5 numbers, and the index has vectors of 4'
      throw new ServiceError('INVALID_ARGUMENT', problem)
    }
    if (texts.some((text) => text.includes(POISON_MARK))) {
      throw unavailable('fake model: it crashed')
    }
  }

  #made(source: Source): Made {
    const { model } = this
    const head = {
      kind: 'dense',
      ordinal: 0,
      sourceHash: source.hash,
      dimension: DIMENSION,
    } as const
    const [text] = textOf(source)
    if (text === undefined) return { kind: 'made', artifact: { ...head, rows: [] } }
    if (model.fault === 'refuses-marked' && text.includes(REFUSED_MARK)) {
      return { kind: 'refused', message: 'fake model: it refuses this text' }
    }
    if (model.isFileAway && text.includes(FILE_MARK)) {
      model.missed += 1
      return { kind: 'away', part: model.awayPart, message: 'fake file: its host does not answer' }
    }
    model.embedded.set(text, (model.embedded.get(text) ?? 0) + 1)
    const vector = Float32Array.from(model.vectorOf(text))
    const texts = text.includes(FILE_MARK) ? { texts: { summary: text } } : {}
    return { kind: 'made', artifact: { ...head, rows: [{ start: 0, end: 0, vector }], ...texts } }
  }
}

function textOf({ parts }: Source): readonly string[] {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
}

/** The hash of a document's source with this text. */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, 16)
}
