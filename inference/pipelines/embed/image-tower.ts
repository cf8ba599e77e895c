import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { ImagePreprocessor } from '../../media/image-preprocessor.ts'
import type { ImageTensor } from '../../media/image-preprocessor.ts'
import { outputSize } from '../../media/image-recipe.ts'
import type { ImageRecipe } from '../../media/image-recipe.ts'
import { MEDIA_LIMITS_DEFAULT } from '../../media/media-limits.ts'
import { floatTensor, floatsOf } from '../../runtime/graph-feeds.ts'
import type { GraphSession, GraphSlot } from '../../runtime/graph-session.ts'
import { chooseOutput, project } from './tower-vectors.ts'
import type { TowerSessions } from './tower-vectors.ts'

const CHANNELS = 3
/** Images, channels, rows and columns. */
const PIXEL_DIMENSIONS = 4

/** Turns the bytes of an image into its vector, which is not normalized yet. */
export class ImageTower {
  readonly #recipe: ImageRecipe
  readonly #sessions: TowerSessions
  readonly #pixels: GraphSlot
  readonly #output: string
  readonly #preprocessor = new ImagePreprocessor(MEDIA_LIMITS_DEFAULT)

  constructor(recipe: ImageRecipe, sessions: TowerSessions) {
    this.#recipe = recipe
    this.#sessions = sessions
    this.#pixels = pixelInput(sessions.graph)
    this.#output = chooseOutput(sessions.graph, true)
  }

  /** The size of a vector; undefined when the tensor's size depends on the image. */
  async probe(signal: AbortSignal): Promise<number | undefined> {
    const size = outputSize(this.#recipe)
    if (size === undefined) return undefined
    const data = new Float32Array(CHANNELS * size.width * size.height)
    return (await this.#vectorOf({ ...size, data }, signal)).length
  }

  /** Rejects with INVALID_ARGUMENT for bytes that are not an image within the limits. */
  async embed(bytes: Uint8Array, signal: AbortSignal): Promise<Float32Array> {
    return this.#vectorOf(await this.#preprocessor.preprocess(bytes, this.#recipe), signal)
  }

  async release(): Promise<void> {
    await this.#sessions.graph.release()
    await this.#sessions.projection?.release()
  }

  async #vectorOf(
    { width, height, data }: ImageTensor,
    signal: AbortSignal,
  ): Promise<Float32Array> {
    const { graph, projection } = this.#sessions
    signal.throwIfAborted()
    const pixels = floatTensor(this.#pixels, [1, CHANNELS, height, width], data)
    const answers = await graph.run({ [this.#pixels.name]: pixels }, [this.#output])
    const tensor = must(answers[this.#output], this.#output)
    const values = floatsOf(tensor)
    // A tower without pooling puts its class token first.
    const vector = tensor.dims.length === 3 ? values.slice(0, tensor.dims[2]) : values
    return project(vector, projection, signal)
  }
}

/** The input for pixels, by its usual name or by its shape. The graph must have no other input. */
function pixelInput({ inputs }: GraphSession): GraphSlot {
  const named = inputs.find(({ name }) => name === 'pixel_values')
  const pixels = named ?? inputs.find(({ dims }) => dims.length === PIXEL_DIMENSIONS)
  const others = inputs.filter((slot) => slot !== pixels).map(({ name }) => name)
  if (pixels !== undefined && others.length === 0) return pixels
  throw new ServiceError(
    'UNAVAILABLE',
    pixels === undefined
      ? 'the graph of images takes no pixel_values'
      : `the graph of images takes ${others.join(', ')} beside pixels; export it without the texts`,
  )
}
