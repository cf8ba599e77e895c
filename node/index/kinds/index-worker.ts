// The entry of an index worker: the engines of each kind. They are apart from the descriptors, because only workers
// load them.

import type { EngineFamilies } from '../host/index-engine.ts'
import { openTextFamily } from '../text/hosted/text-family.ts'
import { serveIndexes } from '../worker/serve-indexes.ts'
import { openEmbeddingsFamily } from './embeddings-family.ts'
import type { ProductKind } from './index-kinds.ts'

const FAMILIES: { readonly [Kind in ProductKind]: EngineFamilies[string] } = {
  text: openTextFamily,
  vectors: openEmbeddingsFamily,
}

serveIndexes(FAMILIES)
