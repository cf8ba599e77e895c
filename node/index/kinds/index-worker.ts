// The entry of an index worker: which engines it can host.

import { serveIndexes } from '../worker/serve-indexes.ts'
import { openTextFamily } from '../text/hosted/text-family.ts'
import { openEmbeddingsFamily } from './embeddings-family.ts'

serveIndexes({ text: openTextFamily, vectors: openEmbeddingsFamily })
