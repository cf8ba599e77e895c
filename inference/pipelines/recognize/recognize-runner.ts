import { must, unreachable } from '../../../lib/assert.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { RecognizerModel, RecognizerSpec } from '../../models/model-spec.ts'
import type { ItemOutcome, ModelRunner, RunnerParts } from '../model-runner.ts'
import { openSeq2SeqSessions, releaseSessions } from '../rewrite/seq2seq-model.ts'
import { GlinerModel } from './gliner-model.ts'
import { recognizeByLabels } from './gliner-recognizer.ts'
import { recognizeByWriting } from './rebel-recognizer.ts'
import type { RecognizeItem, RecognizeResult } from './recognize-item.ts'
import { recognizeByTokens } from './token-classifier.ts'

/** Recognizes items that all have the same labels. */
interface Recognizer {
  recognize(items: readonly RecognizeItem[], signal: AbortSignal): Promise<RecognizeResult[]>
  release(): Promise<void>
}

/** Opens a recognizer of any model type. */
export async function openRecognizeRunner(
  parts: RunnerParts<RecognizerSpec>,
): Promise<ModelRunner<RecognizeItem, RecognizeResult>> {
  const hasRelations = parts.spec.capabilities.includes('relations')
  return new RecognizeRunner(await openRecognizer(parts), hasRelations)
}

function openRecognizer(parts: RunnerParts<RecognizerSpec>): Promise<Recognizer> {
  const { model } = parts.spec
  switch (model.type) {
    case 'token-classifier':
      return openTokenClassifier(parts, model)
    case 'gliner':
      return openGliner(parts, model)
    case 'rebel':
      return openRebel(parts, model)
    default:
      return unreachable(model)
  }
}

type ModelOf<Type extends RecognizerModel['type']> = Extract<
  RecognizerModel,
  { readonly type: Type }
>

async function openTokenClassifier(
  parts: RunnerParts<RecognizerSpec>,
  { graphFile, labels }: ModelOf<'token-classifier'>,
): Promise<Recognizer> {
  const session = await parts.openSession(graphFile)
  const { spec, tokenizer } = parts
  const classifier = { session, tokenizer, maxTokens: spec.maxTokens }
  return {
    recognize: async (items, signal) => {
      const texts = items.map(({ text }) => text)
      const found = await recognizeByTokens(classifier, { texts, labels }, signal)
      return found.map((entities) => ({
        entities: entities.filter(({ label }) => isWanted(items[0], label)),
        relations: [],
      }))
    },
    release: () => session.release(),
  }
}

async function openGliner(
  parts: RunnerParts<RecognizerSpec>,
  settings: ModelOf<'gliner'>,
): Promise<Recognizer> {
  const session = await parts.openSession(settings.graphFile)
  const { spec, tokenizer } = parts
  const model = new GlinerModel(session, tokenizer, { settings, maxTokens: spec.maxTokens })
  return {
    recognize: (items, signal) => recognizeByLabels(model, items, signal),
    release: () => session.release(),
  }
}

async function openRebel(
  parts: RunnerParts<RecognizerSpec>,
  settings: ModelOf<'rebel'>,
): Promise<Recognizer> {
  const sessions = await openSeq2SeqSessions(settings.seq2seq, (file) => parts.openSession(file))
  const { spec, tokenizer } = parts
  const model = { sessions, tokenizer, settings, maxTokens: spec.maxTokens }
  return {
    recognize: async (items, signal) => {
      const results: RecognizeResult[] = []
      for (const item of items) results.push(await recognizeByWriting(model, item, signal))
      return results
    },
    release: () => releaseSessions(sessions),
  }
}

function isWanted(item: RecognizeItem | undefined, label: string): boolean {
  const labels = item?.labels ?? []
  return labels.length === 0 || labels.some((one) => one.toLowerCase() === label.toLowerCase())
}

class RecognizeRunner implements ModelRunner<RecognizeItem, RecognizeResult> {
  readonly #recognizer: Recognizer
  readonly #hasRelations: boolean

  constructor(recognizer: Recognizer, hasRelations: boolean) {
    this.#recognizer = recognizer
    this.#hasRelations = hasRelations
  }

  async run(
    items: readonly RecognizeItem[],
    signal: AbortSignal,
  ): Promise<readonly ItemOutcome<RecognizeResult>[]> {
    const outcomes = new Map<RecognizeItem, ItemOutcome<RecognizeResult>>()
    for (const group of groupByLabels(items)) {
      const found = await this.#recognize(group, signal)
      group.forEach((item, index) => outcomes.set(item, must(found[index], 'an outcome')))
    }
    return items.map((item) => must(outcomes.get(item), 'an outcome for each item'))
  }

  dispose(): Promise<void> {
    return this.#recognizer.release()
  }

  async #recognize(
    items: readonly RecognizeItem[],
    signal: AbortSignal,
  ): Promise<ItemOutcome<RecognizeResult>[]> {
    if (!this.#hasRelations && items.some(({ relationLabels }) => relationLabels.length > 0)) {
      return items.map(() => refused('relation_labels: the model does not recognize relations'))
    }
    try {
      const results = await this.#recognizer.recognize(items, signal)
      return results.map((result) => ({ kind: 'done', result }))
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'INVALID_ARGUMENT') throw error
      return items.length === 1 ? [refused(error.message)] : this.#recognizeApart(items, signal)
    }
  }

  /** A refusal may concern one text only, so each item is tried by itself. */
  async #recognizeApart(
    items: readonly RecognizeItem[],
    signal: AbortSignal,
  ): Promise<ItemOutcome<RecognizeResult>[]> {
    const outcomes: ItemOutcome<RecognizeResult>[] = []
    for (const item of items) outcomes.push(...(await this.#recognize([item], signal)))
    return outcomes
  }
}

function refused(message: string): ItemOutcome<RecognizeResult> {
  return { kind: 'refused', code: 'INVALID_ARGUMENT', message }
}

function groupByLabels(items: readonly RecognizeItem[]): RecognizeItem[][] {
  const groups = new Map<string, RecognizeItem[]>()
  for (const item of items) {
    const key = JSON.stringify([item.labels, item.relationLabels])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}
