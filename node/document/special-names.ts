// The top-level members of a document that stand beside its body: what indexes of vectors keep of it.

import { hashOfName } from './name-hash.ts'

/** By index name, vectors. Clients write them for external indexes. */
export const EMBEDDINGS_FIELD = '_embeddings'
/** By index name, the parts into which the store divided a long text. */
export const CHUNKS_FIELD = '_chunks'
/** By index name, what the store made of media in words. */
export const SUMMARIES_FIELD = '_summaries'

export const SPECIAL_NAMES = [EMBEDDINGS_FIELD, CHUNKS_FIELD, SUMMARIES_FIELD] as const

const [EMBEDDINGS_HASH, CHUNKS_HASH, SUMMARIES_HASH] = SPECIAL_NAMES.map(hashOfName)

/** Whether a name of this hash may be special. False is certain. */
export function isSpecialHash(hash: number): boolean {
  return hash === EMBEDDINGS_HASH || hash === CHUNKS_HASH || hash === SUMMARIES_HASH
}
