import type { IndexKinds } from '../host/index-kind.ts'
import { TEXT_KIND } from '../text/hosted/text-kind.ts'
import { VECTOR_KIND } from '../vector/hosted/vector-kind.ts'

/** The kinds of index that the product has, for the main thread; index-worker.ts has their engines. */
export const INDEX_KINDS: IndexKinds = { text: TEXT_KIND, vectors: VECTOR_KIND }
/** What the workers of these indexes run. */
export const INDEX_WORKER = new URL('./index-worker.ts', import.meta.url)
