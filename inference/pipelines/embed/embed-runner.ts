// The worker's side of embedding: text through tokenizer, graph and pooling, images through
// preprocessing and graph, both into one space.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { ImagePreprocessor } from '../../media/image-preprocessor.ts'
import type { ImageTensor } from '../../media/image-preprocessor.ts'
import { MEDIA_LIMITS_DEFAULT } from '../../media/media-limits.ts'
import type { EmbedderSpec } from '../../models/model-spec.ts'
import { floatTensor, floatsOf } from '../../runtime/graph-feeds.ts'
import type { GraphSession } from '../../runtime/graph-session.ts'
import type { Encoding } from '../../text/encoding.ts'
import type { ItemOutcome, ModelRunner, RunnerParts } from '../model-runner.ts'
import { runRows } from '../row-outputs.ts'
import type { RowOutput } from '../row-outputs.ts'
import type { EmbedItem, EmbedResult } from './embed-item.ts'
import { normalized, pool } from './pooling.ts'

type TextItem = Extract<EmbedItem, { readonly kind: 'text' }>
type ImageItem = Extract<EmbedItem, { readonly kind: 'image' }>
type Outcome = ItemOutcome<EmbedResult>

export interface EmbedRunner extends ModelRunner<EmbedItem, EmbedResult> {
  readonly dimension: number
}

/** Embeds once, so that a graph that cannot be run is found out at its load, and its size is known. */
export async function openEmbedRunner(parts: RunnerParts<EmbedderSpec>): Promise<EmbedRunner> {
  const opened: GraphSession[] = []
  const open = async (file: string | undefined): Promise<GraphSession | undefined> => {
    if (file === undefined) return undefined
    const session = await parts.openSession(file)
    opened.push(session)
    return session
  }
  try {
    const { text, image } = parts.spec
    const sessions = {
      text: must(await open(text.graphFile), 'the session of a named graph'),
      textProjection: await open(text.projectionFile),
      image: await open(image?.graphFile),
      imageProjection: await open(image?.projectionFile),
    }
    const towers = new EmbeddingTowers(parts, sessions)
    return new SessionEmbedRunner(towers, await towers.probe())
  } catch (error) {
    for (const session of opened) await session.release()
    throw error
  }
}

interface TowerSessions {
  readonly text: GraphSession
  readonly textProjection: GraphSession | undefined
  readonly image: GraphSession | undefined
  readonly imageProjection: GraphSession | undefined
}

class SessionEmbedRunner implements EmbedRunner {
  readonly dimension: number
  readonly #towers: EmbeddingTowers

  constructor(towers: EmbeddingTowers, dimension: number) {
    this.#towers = towers
    this.dimension = dimension
  }

  async run(items: readonly EmbedItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes = new Map<EmbedItem, Outcome>()
    const texts = items.filter((item) => item.kind === 'text')
    const images = items.filter((item) => item.kind === 'image')
    await this.#towers.embedTexts(texts, outcomes, signal)
    for (const image of images) {
      signal.throwIfAborted()
      outcomes.set(image, await this.#towers.embedImage(image))
    }
    return items.map((item) => must(outcomes.get(item), 'an outcome for each item'))
  }

  dispose(): Promise<void> {
    return this.#towers.release()
  }
}

class EmbeddingTowers {
  readonly #parts: RunnerParts<EmbedderSpec>
  readonly #sessions: TowerSessions
  readonly #textOutput: string
  readonly #preprocessor = new ImagePreprocessor(MEDIA_LIMITS_DEFAULT)

  constructor(parts: RunnerParts<EmbedderSpec>, sessions: TowerSessions) {
    this.#parts = parts
    this.#sessions = sessions
    this.#textOutput = chooseOutput(sessions.text, parts.spec.image !== undefined)
  }

  /** The size of a vector. */
  async probe(): Promise<number> {
    const [row] = await this.#textVectors(
      [this.#parts.tokenizer.encode('a', { maxTokens: this.#parts.spec.maxTokens })],
      NEVER,
    )
    return must(row, 'a row for a text').length
  }

  async embedTexts(
    items: readonly TextItem[],
    outcomes: Map<EmbedItem, Outcome>,
    signal: AbortSignal,
  ): Promise<void> {
    const { tokenizer, spec } = this.#parts
    const kept: { readonly item: TextItem; readonly encoding: Encoding }[] = []
    for (const item of items) {
      const encoding = tokenizer.encode(item.text, { maxTokens: spec.maxTokens })
      if (encoding.truncated && !item.truncate) outcomes.set(item, tooLong(spec.maxTokens))
      else kept.push({ item, encoding })
    }
    if (kept.length === 0) return
    const vectors = await this.#textVectors(
      kept.map(({ encoding }) => encoding),
      signal,
    )
    kept.forEach(({ item, encoding }, index) => {
      const vector = must(vectors[index], 'a vector for each row')
      outcomes.set(item, outcomeOf(vector, encoding.ids.length))
    })
  }

  async embedImage({ bytes }: ImageItem): Promise<Outcome> {
    const { image } = this.#parts.spec
    const { image: session, imageProjection } = this.#sessions
    if (image === undefined || session === undefined) return TEXT_ONLY
    try {
      const pixels = await this.#preprocessor.preprocess(bytes, image.recipe)
      return outcomeOf(await project(await imageVector(session, pixels), imageProjection), 0)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'INVALID_ARGUMENT') throw error
      return { kind: 'refused', code: 'INVALID_ARGUMENT', message: error.message }
    }
  }

  async release(): Promise<void> {
    for (const session of Object.values(this.#sessions)) await session?.release()
  }

  async #textVectors(encodings: readonly Encoding[], signal: AbortSignal): Promise<Float32Array[]> {
    const { tokenizer, spec } = this.#parts
    const { padId, paddingSide } = tokenizer
    const rule = { padId, paddingSide, output: this.#textOutput }
    const rows = await runRows(this.#sessions.text, encodings, rule, signal)
    const vectors = rows.map((row, index) => {
      const count = must(encodings[index], 'an encoding for each row').ids.length
      return vectorOf(row, count, spec)
    })
    const projected: Float32Array[] = []
    for (const vector of vectors) {
      projected.push(await project(vector, this.#sessions.textProjection))
    }
    return projected
  }
}

const NEVER = new AbortController().signal

/** A graph that pools answers one state for each row, others one for each token. */
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
  return pool({ states: values, size, first: leadingPadding, count }, text.pooling)
}

/** Outputs that are vectors come first; of a two-tower model also its pooled state. */
function chooseOutput({ outputs }: GraphSession, hasTowers: boolean): string {
  const pooled = hasTowers ? ['text_embeds', 'image_embeds', 'pooler_output'] : []
  const order = ['sentence_embedding', ...pooled, 'last_hidden_state', 'token_embeddings']
  const names = outputs.map(({ name }) => name)
  return must(order.find((name) => names.includes(name)) ?? names[0], 'an output of the graph')
}

async function imageVector(session: GraphSession, pixels: ImageTensor): Promise<Float32Array> {
  const slot = must(session.inputs[0], 'an input of the graph')
  const dims = [1, 3, pixels.height, pixels.width]
  const output = chooseOutput(session, true)
  const answers = await session.run({ [slot.name]: floatTensor(slot, dims, pixels.data) }, [output])
  const tensor = must(answers[output], output)
  const values = floatsOf(tensor)
  // A tower that does not pool puts its class token first.
  return tensor.dims.length === 3 ? values.slice(0, tensor.dims[2]) : values
}

async function project(
  vector: Float32Array,
  projection: GraphSession | undefined,
): Promise<Float32Array> {
  const slot = projection?.inputs[0]
  const output = projection?.outputs[0]?.name
  if (projection === undefined || slot === undefined || output === undefined) return vector
  const feeds = { [slot.name]: floatTensor(slot, [1, vector.length], vector) }
  return floatsOf(must((await projection.run(feeds))[output], output))
}

function outcomeOf(vector: Float32Array, tokens: number): Outcome {
  const unit = normalized(vector)
  return unit === undefined ? NOT_FINITE : { kind: 'done', result: { vector: unit, tokens } }
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
  message: 'input: this model embeds text alone; send text, or use a model of text and images',
}

const NOT_FINITE: Outcome = {
  kind: 'refused',
  code: 'INFERENCE_FAILED',
  message: 'the model answered a vector with numbers that are not finite',
}
