// A shard as queries see it: documents, and a text index that has seen all of them.

import { deserialize, serialize } from 'node:v8'
import { runAtOnce } from '../../../lib/sliced.ts'
import { timestampAtMs } from '../../../node/clock/hybrid-clock.ts'
import type { QueriedShard } from '../../../node/search/tables/queried-table.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import { stringifyExact } from '../../../node/document/exact-json.ts'
import type { TableSchema } from '../../../node/schema/table-schema.ts'
import { encodeRecord, type DocumentRecord } from '../../../node/shard/format/document-record.ts'
import { isAnswerTo, portableAnswer } from '../../../node/index/kinds/index-request.ts'
import {
  readAsked,
  readIndexAnswer,
  writeAsked,
} from '../../../node/shard/remote/wire/index-codec.ts'
import { writeValue } from '../../../node/shard/remote/wire/value-codec.ts'
import { WireReader } from '../../../node/shard/remote/wire/wire-reader.ts'
import { WireWriter } from '../../../node/shard/remote/wire/wire-writer.ts'
import { MemoryTextIndex, type Documents } from '../worlds/memory-text-index.ts'

export const WRITTEN_AT_MS = 1_700_000_000_000

export class TextShard implements QueriedShard {
  readonly text: MemoryTextIndex
  readonly #records = new Map<string, DocumentRecord>()

  constructor(documents: Documents, schema?: TableSchema) {
    this.text = new MemoryTextIndex({}, schema)
    this.write(documents)
  }

  write(documents: Documents): void {
    this.text.write(documents)
    for (const [key, document] of Object.entries(documents)) {
      this.#records.set(key, recordOf(document))
    }
  }

  delete(key: string): void {
    this.text.write({}, [key])
    this.#records.delete(key)
  }

  /** Deletes the document, of which the index has not heard yet. */
  deleteUnseen(key: string): void {
    this.#records.delete(key)
  }

  read(key: Buffer): DocumentRecord | undefined {
    return this.#records.get(key.toString())
  }

  /** Through a structured clone, as between threads, and in the bytes that nodes send each other. */
  search: QueriedShard['search'] = async (index, asked) => {
    const out = new WireWriter()
    runAtOnce(writeAsked(out, { index, asked }))
    const arrived = runAtOnce(readAsked(new WireReader(out.joined())))
    const cloned = deserialize(serialize(arrived.asked))
    const answer: unknown = deserialize(serialize(this.text.answer(cloned)))
    const back = new WireWriter()
    runAtOnce(writeValue(back, runAtOnce(portableAnswer(asked.kind, answer))))
    const received = runAtOnce(readIndexAnswer(new WireReader(back.joined())))
    if (isAnswerTo(asked, received)) return received
    throw new TypeError('no answer')
  }
}

function recordOf(document: JsonObject): DocumentRecord {
  const version = timestampAtMs(WRITTEN_AT_MS)
  const header = { version, deleted: false, ttlGeneration: 0, expiresAtMs: 0 }
  return encodeRecord(header, Buffer.from(stringifyExact(document)))
}
