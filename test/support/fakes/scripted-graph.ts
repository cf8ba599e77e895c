import type {
  GraphSession,
  GraphSlot,
  GraphTensor,
} from '../../../inference/runtime/graph-session.ts'
import { assert, must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'

export type Feeds = Readonly<Record<string, GraphTensor>>

/**
 * A graph session whose answers a test writes, and which keeps what it was fed with. Held to the
 * contract of GraphSession by test/unit/inference/runtime/graph-session.test.ts.
 */
export class ScriptedGraph implements GraphSession {
  readonly inputs: readonly GraphSlot[]
  readonly outputs: readonly GraphSlot[]
  readonly feeds: Feeds[] = []
  readonly wanted: (readonly string[] | undefined)[] = []
  isReleased = false
  readonly #answer: (feeds: Feeds) => Feeds

  constructor(
    slots: { readonly inputs: readonly GraphSlot[]; readonly outputs: readonly GraphSlot[] },
    answer: (feeds: Feeds) => Feeds,
  ) {
    this.inputs = slots.inputs
    this.outputs = slots.outputs
    this.#answer = answer
  }

  async run(feeds: Feeds, wanted?: readonly string[]): Promise<Feeds> {
    assert(!this.isReleased, 'a released session is not run')
    for (const input of this.inputs) checkFeed(input, feeds[input.name])
    this.feeds.push(feeds)
    this.wanted.push(wanted)
    const answers = this.#answer(feeds)
    const names = wanted ?? this.outputs.map(({ name }) => name)
    return Object.fromEntries(names.map((name) => [name, must(answers[name], `script of ${name}`)]))
  }

  release(): Promise<void> {
    this.isReleased = true
    return Promise.resolve()
  }
}

function checkFeed({ name, type, dims }: GraphSlot, tensor: GraphTensor | undefined): void {
  const length = tensor?.dims.reduce((product, size) => product * size, 1)
  const isFit =
    tensor?.type === type &&
    tensor.data.length === length &&
    (dims.length === 0 || tensor.dims.length === dims.length) &&
    dims.every((size, index) => size === undefined || size === tensor.dims[index])
  if (!isFit) throw new ServiceError('INFERENCE_FAILED', `the graph failed: input ${name}`)
}

/** Without dimensions: of any. */
export function slot(
  name: string,
  type: GraphSlot['type'],
  dims: GraphSlot['dims'] = [],
): GraphSlot {
  return { name, type, dims }
}

export function floats(dims: readonly number[], data: readonly number[]): GraphTensor {
  return { type: 'float32', dims, data: Float32Array.from(data) }
}
