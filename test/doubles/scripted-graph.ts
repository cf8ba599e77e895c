import type { GraphSession, GraphSlot, GraphTensor } from '../../inference/runtime/graph-session.ts'

export type Feeds = Readonly<Record<string, GraphTensor>>

/** A graph session whose answers a test writes, and which keeps what it was fed with. */
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

  run(feeds: Feeds, wanted?: readonly string[]): Promise<Feeds> {
    this.feeds.push(feeds)
    this.wanted.push(wanted)
    return Promise.resolve(this.#answer(feeds))
  }

  release(): Promise<void> {
    this.isReleased = true
    return Promise.resolve()
  }
}

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
