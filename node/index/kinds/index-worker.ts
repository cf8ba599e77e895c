// The entry of an index worker: which engines it can host.

import { serveIndexes } from '../host/serve-indexes.ts'
import { openTextFamily } from '../text/hosted/text-family.ts'

serveIndexes({ text: openTextFamily })
