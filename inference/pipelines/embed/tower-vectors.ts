// What the tower of texts and the tower of images do alike: which output is a vector, and the way from
// it to the space that both share.

import { must } from '../../../lib/assert.ts'
import { floatTensor, floatsOf } from '../../runtime/graph-feeds.ts'
import type { GraphSession } from '../../runtime/graph-session.ts'

export interface TowerSessions {
  readonly graph: GraphSession
  readonly projection: GraphSession | undefined
}

/** Outputs that are vectors come first; of a two-tower model also its pooled state. */
export function chooseOutput({ outputs }: GraphSession, hasTowers: boolean): string {
  const pooled = hasTowers ? ['text_embeds', 'image_embeds', 'pooler_output'] : []
  const order = ['sentence_embedding', ...pooled, 'last_hidden_state', 'token_embeddings']
  const names = outputs.map(({ name }) => name)
  return must(order.find((name) => names.includes(name)) ?? names[0], 'an output of the graph')
}

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
