// The common part of the text tower and the image tower: the choice of the output, and the projection
// of its vector into the shared space.

import { must } from '../../../lib/assert.ts'
import { floatTensor, floatsOf } from '../../runtime/graph-feeds.ts'
import type { GraphSession } from '../../runtime/graph-session.ts'

/** The graphs of one tower. The caller releases them. */
export interface TowerSessions {
  readonly graph: GraphSession
  readonly projection: GraphSession | undefined
}

/**
 * The name of the output to use. Outputs of vectors come first; for two-tower models, these include
 * the pooled state.
 */
export function chooseOutput({ outputs }: GraphSession, hasTowers: boolean): string {
  const pooled = hasTowers ? ['text_embeds', 'image_embeds', 'pooler_output'] : []
  const order = ['sentence_embedding', ...pooled, 'last_hidden_state', 'token_embeddings']
  const names = outputs.map(({ name }) => name)
  return must(order.find((name) => names.includes(name)) ?? names[0], 'an output of the graph')
}

/** The vector in the shared space. Without a projection graph, the vector itself. */
export async function project(
  vector: Float32Array,
  projection: GraphSession | undefined,
  signal: AbortSignal,
): Promise<Float32Array> {
  const slot = projection?.inputs[0]
  const output = projection?.outputs[0]?.name
  if (projection === undefined || slot === undefined || output === undefined) return vector
  signal.throwIfAborted()
  const feeds = { [slot.name]: floatTensor(slot, [1, vector.length], vector) }
  return floatsOf(must((await projection.run(feeds))[output], output))
}
