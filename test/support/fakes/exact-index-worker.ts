// The entry of a worker that hosts the product's engines and one more.

import { serveIndexes } from '../../../node/index/worker/serve-indexes.ts'
import { openTextFamily } from '../../../node/index/text/hosted/text-family.ts'
import { openExactFamily } from './exact-index.ts'

serveIndexes({ text: openTextFamily, exact: openExactFamily })
