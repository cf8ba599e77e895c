// The worker's side of embedding. Texts pass through tokenizer, graph and pooling, images through
// preprocessing and graph. Both end in one vector space.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { EmbedderSpec } from '../../models/model-spec.ts'
import { tokensMaxOf, unfedInputs } from '../../runtime/graph-feeds.ts'
import type { GraphSession } from '../../runtime/graph-session.ts'
import type { Encoding } from '../../text/encoding.ts'
import type { ItemOutcome, ModelRunner, RunnerParts } from '../model-runner.ts'
import { runRows } from '../row-outputs.ts'
import type { RowOutput } from '../row-outputs.ts'
import { WARM_UP_TEXT } from '../token-estimate.ts'
import type { EmbedItem, EmbedResult } from './embed-item.ts'
import { ImageTower } from './image-tower.ts'
import { normalized, pool } from './pooling.ts'
import { chooseOutput, project } from './tower-vectors.ts'
import type { TowerSessions } from './tower-vectors.ts'

type TextItem = Exclude<EmbedItem, ImageItem>
type ImageItem = Extract<EmbedItem, { readonly kind: 'image' }>
type Outcome = ItemOutcome<EmbedResult>

/** The largest dimension that the API contract allows. */
const DIMENSION_MAX = 65_536

/** A loaded embedder. All its vectors have `dimension` numbers. */
export interface EmbedRunner extends ModelRunner<EmbedItem, EmbedResult> {
  readonly dimension: number
  /** Sentences for operators about the quality of its vectors. */
  readonly warnings: readonly string[]
}

/**
 * Opens an embedder and embeds once. So a graph that cannot run fails at its load, and the
 * dimension is known.
 */
export async function openEmbedRunner(parts: RunnerParts<EmbedderSpec>): Promise<EmbedRunner> {
  const opened: GraphSession[] = []
  const open = async (file: string): Promise<GraphSession> => {
    const session = await parts.openSession(file)
    opened.push(session)
    return session
  }
  const openNamed = (file: string | undefined): Promise<GraphSession> | undefined =>
    file === undefined ? undefined : open(file)
  try {
    const { text, image } = parts.spec
    const texts = {
      graph: await open(text.graphFile),
      projection: await openNamed(text.projectionFile),
    }
    const images =
      image &&
      new ImageTower(image.recipe, {
        graph: await open(image.graphFile),
        projection: await openNamed(image.projectionFile),
      })
    const towers = new EmbeddingTowers(parts, texts, images)
    const dimension = await towers.probe()
    if (dimension >= 1 && dimension <= DIMENSION_MAX) {
      return new SessionEmbedRunner(towers, dimension)
    }
    const message = `the graph answers vectors of ${dimension} numbers; from 1 to ${DIMENSION_MAX} are served`
    throw new ServiceError('UNAVAILABLE', message)
  } catch (error) {
    for (const session of opened) await session.release()
    throw error
  }
}

class SessionEmbedRunner implements EmbedRunner {
  readonly dimension: number
  readonly warnings: readonly string[]
  readonly #towers: EmbeddingTowers

  constructor(towers: EmbeddingTowers, dimension: number) {
    this.#towers = towers
    this.warnings = towers.isPoolingGuessed ? [POOLING_GUESSED] : []
    this.dimension = dimension
  }

  async run(items: readonly EmbedItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes = new Map<EmbedItem, Outcome>()
    const texts = items.filter((item) => item.kind !== 'image')
    const images = items.filter((item) => item.kind === 'image')
    await this.#towers.embedTexts(texts, outcomes, signal)
    for (const image of images) {
      signal.throwIfAborted()
      outcomes.set(image, await this.#towers.embedImage(image, signal))
    }
    return items.map((item) => this.#checked(must(outcomes.get(item), 'an outcome for each item')))
  }

  /** The API promises vectors of one size, and a binary answer has one size for all vectors. */
  #checked(outcome: Outcome): Outcome {
    const isOdd = outcome.kind === 'done' && outcome.result.vector.length !== this.dimension
    return isOdd ? ODD_SIZE : outcome
  }

  dispose(): Promise<void> {
    return this.#towers.release()
  }
}

class EmbeddingTowers {
  readonly #parts: RunnerParts<EmbedderSpec>
  readonly #text: TowerSessions
  readonly #image: ImageTower | undefined
  readonly #textOutput: string
  readonly #tokensMax: number
  /**
   * Whether the last run showed that the graph itself pools: it answered one state for each text.
   */
  #hasPooled = false

  constructor(
    parts: RunnerParts<EmbedderSpec>,
    text: TowerSessions,
    image: ImageTower | undefined,
  ) {
    checkTextInputs(text.graph)
    this.#parts = parts
    this.#text = text
    this.#image = image
    this.#textOutput = chooseOutput(text.graph, image !== undefined)
    this.#tokensMax = tokensMaxOf(text.graph.inputs, parts.spec.maxTokens)
  }

  /** Whether the runner pools by a guess, because no file of the model names the pooling. */
  get isPoolingGuessed(): boolean {
    return this.#parts.spec.text.isPoolingGuessed && !this.#hasPooled
  }

  /** The dimension, which the vectors of texts and images must share. */
  async probe(): Promise<number> {
    const { tokenizer } = this.#parts
    const encodings = [tokenizer.encode(WARM_UP_TEXT, { maxTokens: this.#tokensMax })]
    const [row] = await this.#textVectors(encodings, NEVER)
    this.#checkModules()
    const size = must(row, 'a row for a text').length
    const imageSize = (await this.#image?.probe(NEVER)) ?? size
    if (imageSize === size) return size
    const problem = `the vectors of texts have ${size} numbers, those of images ${imageSize}`
    throw new ServiceError('UNAVAILABLE', `${problem}; a projection is missing or does not fit`)
  }

  /** Undefined for ids without a token in the model. */
  #encode(item: TextItem): Encoding | undefined {
    const { tokenizer } = this.#parts
    const limit = { maxTokens: this.#tokensMax }
    if (item.kind === 'text') return tokenizer.encode(item.text, limit)
    if (item.ids.some((id) => tokenizer.tokenOf(id) === undefined)) return undefined
    return tokenizer.wrap(item.ids, limit)
  }

  /** Modules after pooling are applied only by graphs that pool themselves. */
  #checkModules(): void {
    const { laterModule } = this.#parts.spec.text
    if (laterModule === undefined || this.#hasPooled) return
    const message = `modules.json: ${laterModule} is not applied; export the graph with all modules, or use another model`
    throw new ServiceError('UNAVAILABLE', message)
  }

  async embedTexts(
    items: readonly TextItem[],
    outcomes: Map<EmbedItem, Outcome>,
    signal: AbortSignal,
  ): Promise<void> {
    const maxTokens = this.#tokensMax
    const kept: { readonly item: TextItem; readonly encoding: Encoding }[] = []
    for (const item of items) {
      const encoding = this.#encode(item)
      if (encoding === undefined) outcomes.set(item, UNKNOWN_TOKEN)
      else if (encoding.ids.length === 0) outcomes.set(item, NO_TOKENS)
      else if (encoding.truncated && !item.truncate) outcomes.set(item, tooLong(maxTokens))
      else kept.push({ item, encoding })
    }
    if (kept.length === 0) return
    const vectors = await this.#textVectors(
      kept.map(({ encoding }) => encoding),
      signal,
    )
    kept.forEach(({ item, encoding }, index) => {
      const vector = must(vectors[index], 'a vector for each row')
      outcomes.set(
        item,
        outcomeOf(vector, { tokens: encoding.ids.length, isCut: encoding.truncated }),
      )
    })
  }

  async embedImage({ bytes }: ImageItem, signal: AbortSignal): Promise<Outcome> {
    if (this.#image === undefined) return TEXT_ONLY
    try {
      return outcomeOf(await this.#image.embed(bytes, signal), { tokens: 0, isCut: false })
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'INVALID_ARGUMENT') throw error
      return { kind: 'refused', code: 'INVALID_ARGUMENT', message: error.message }
    }
  }

  async release(): Promise<void> {
    await this.#text.graph.release()
    await this.#text.projection?.release()
    await this.#image?.release()
  }

  async #textVectors(encodings: readonly Encoding[], signal: AbortSignal): Promise<Float32Array[]> {
    const { tokenizer, spec } = this.#parts
    const { padId, paddingSide } = tokenizer
    const widthMin = spec.text.isPaddedToMax ? this.#tokensMax : 1
    const { hasAlignedRows: isAligned } = spec.text
    const rule = { padId, paddingSide, widthMin, output: this.#textOutput, isAligned }
    const rows = await runRows(this.#text.graph, encodings, rule, signal)
    this.#hasPooled = rows[0]?.dims.length === 1
    const vectors = rows.map((row, index) => {
      const count = must(encodings[index], 'an encoding for each row').ids.length
      return vectorOf(row, count, spec)
    })
    const projected: Float32Array[] = []
    for (const vector of vectors) {
      projected.push(await project(vector, this.#text.projection, signal))
    }
    return projected
  }
}

const NEVER = new AbortController().signal

const POOLING_GUESSED =
  'the model has no 1_Pooling/config.json: vectors are the mean of all token states, ' +
  'but some models were trained to use the first token'

/** Some exporters put both towers into one graph, which would then run both for every text. */
function checkTextInputs({ inputs }: GraphSession): void {
  const unfed = unfedInputs(inputs)
  if (unfed.length === 0) return
  throw new ServiceError(
    'UNAVAILABLE',
    `the graph of texts takes ${unfed.join(', ')} beside tokens; ` +
      'a model of text and images needs text_model.onnx and vision_model.onnx',
  )
}

/** A graph that pools answers one state for each row; others answer one for each token. */
function vectorOf(
  { dims, values, leadingPadding }: RowOutput,
  count: number,
  { text }: EmbedderSpec,
): Float32Array {
  if (dims.length === 1) return values
  const size = dims[1]
  if (dims.length !== 2 || size === undefined) {
    throw new ServiceError('INFERENCE_FAILED', `the graph answers ${dims.length + 1} dimensions`)
  }
  if ((dims[0] ?? 0) < leadingPadding + count) {
    throw new ServiceError('INFERENCE_FAILED', 'the graph answers states of too few tokens')
  }
  return pool({ states: values, size, first: leadingPadding, count }, text.pooling)
}

function outcomeOf(vector: Float32Array, read: Omit<EmbedResult, 'vector'>): Outcome {
  const unit = normalized(vector)
  return unit === undefined ? NOT_FINITE : { kind: 'done', result: { vector: unit, ...read } }
}

function tooLong(maxTokens: number): Outcome {
  const message =
    `the input length exceeds the context length of ${maxTokens} tokens; ` +
    'shorten it, or send truncate: true'
  return { kind: 'refused', code: 'INVALID_ARGUMENT', message }
}

const TEXT_ONLY: Outcome = {
  kind: 'refused',
  code: 'INVALID_ARGUMENT',
  message: 'input: this model embeds only text; send text, or use a model of text and images',
}

const NO_TOKENS: Outcome = {
  kind: 'refused',
  code: 'INVALID_ARGUMENT',
  message: 'input: a text has no tokens for this model; send more than white space',
}

const UNKNOWN_TOKEN: Outcome = {
  kind: 'refused',
  code: 'INVALID_ARGUMENT',
  message:
    "input: the model has no token with such an id; send ids of the model's own tokenizer, or texts",
}

const ODD_SIZE: Outcome = {
  kind: 'refused',
  code: 'INFERENCE_FAILED',
  message: 'the model answered a vector whose size differs from its other vectors',
}

const NOT_FINITE: Outcome = {
  kind: 'refused',
  code: 'INFERENCE_FAILED',
  message: 'the model answered a vector with numbers that are not finite',
}
