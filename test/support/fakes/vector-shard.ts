// A shard with a full-text index and exact indexes of vectors, as queries see it.

import { deserialize, serialize } from 'node:v8'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { QueriedShard } from '../../../node/search/tables/queried-table.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import type { WrittenVector } from '../../../node/embedding/vector-forms.ts'
import { isAnswerTo } from '../../../node/index/kinds/index-request.ts'
import { hasOrdinal } from '../../../node/index/host/ordinal-set.ts'
import { isNearestRequest } from '../../../node/index/vector/hosted/vector-request-shape.ts'
import type {
  NearestHit,
  NearestRequest,
  PackedNearest,
} from '../../../node/index/vector/vector-search.ts'
import type { DocumentRecord } from '../../../node/shard/format/document-record.ts'
import {
  readAsked,
  readIndexAnswer,
  writeAsked,
} from '../../../node/shard/remote/wire/index-codec.ts'
import { writeValue } from '../../../node/shard/remote/wire/value-codec.ts'
import { WireReader } from '../../../node/shard/remote/wire/wire-reader.ts'
import { WireWriter } from '../../../node/shard/remote/wire/wire-writer.ts'
import { TextShard } from './text-shard.ts'

/** A part of a document's text, with its vector. */
export interface FakePart {
  readonly vector: readonly number[]
  readonly start: number
  readonly end: number
}

/** By index: one vector, or some with the parts that they stand for. */
export interface FakeVectors {
  readonly [index: string]: readonly number[] | readonly FakePart[]
}

export interface FakeDocument {
  readonly json: JsonObject
  readonly vectors?: FakeVectors
}

/** By key. */
export type FakeDocuments = Readonly<Record<string, FakeDocument>>

interface Entry {
  readonly key: string
  readonly ordinal: number
  readonly vectors: FakeVectors
}

/** Distances are squared. */
export class VectorShard implements QueriedShard {
  readonly text: TextShard
  readonly #entries: readonly Entry[]
  /** What the indexes of vectors were asked, in order. */
  readonly asked: NearestRequest[] = []

  constructor(documents: FakeDocuments) {
    const entries = Object.entries(documents)
    this.text = new TextShard(Object.fromEntries(entries.map(([key, { json }]) => [key, json])))
    this.#entries = entries.map(([key, { vectors = {} }], ordinal) => ({ key, ordinal, vectors }))
  }

  vectorsOf(index: string, key: Buffer): readonly WrittenVector[] | undefined {
    const parts = partsOf(this.#entries.find((one) => one.key === key.toString())?.vectors[index])
    const vectors = parts.map(({ vector }) => Float32Array.from(vector))
    return parts.length === 0 ? undefined : vectors.map((vector) => ({ kind: 'dense', vector }))
  }

  read(key: Buffer): DocumentRecord | undefined {
    return this.text.read(key)
  }

  /** Through the bytes that nodes send each other. */
  search: QueriedShard['search'] = async (index, asked, limits) => {
    if (asked.kind !== 'vectors') return this.text.search(index, asked, limits)
    const out = new WireWriter()
    runAtOnce(writeAsked(out, { index, asked }))
    const { asked: arrived } = runAtOnce(readAsked(new WireReader(out.joined())))
    const { request } = arrived
    if (!isNearestRequest(request)) throw new TypeError('a request of another shape')
    this.asked.push(request)
    const answer = overTheWire(this.#nearest(index, request))
    if (isAnswerTo(asked, answer)) return answer
    throw new TypeError('no answer')
  }

  #nearest(index: string, request: NearestRequest): PackedNearest {
    const { filter, distanceUnder = Infinity, distanceOver = -Infinity } = request
    const hits = this.#entries
      .filter(({ ordinal }) => filter === undefined || hasOrdinal(filter, ordinal))
      .flatMap((entry): NearestHit[] => {
        const best = bestOf(partsOf(entry.vectors[index]), request.vector)
        return best === undefined ? [] : [{ ...best, key: Buffer.from(entry.key), ordinal: entry.ordinal }] // prettier-ignore
      })
    const within = hits.filter(
      ({ distance }) => distance <= distanceUnder && distance >= distanceOver,
    )
    const ordered = within.toSorted(
      (a, b) => a.distance - b.distance || Buffer.compare(a.key, b.key),
    )
    return packed(ordered.slice(0, request.limit), hits.length)
  }
}

function bestOf(
  parts: readonly FakePart[],
  vector: Float32Array,
): Omit<NearestHit, 'key' | 'ordinal'> | undefined {
  const all = parts.map((part, row) => {
    const distance = part.vector.reduce((sum, one, i) => sum + (one - (vector[i] ?? 0)) ** 2, 0)
    return { distance, row, start: part.start, end: part.end }
  })
  return all.toSorted((a, b) => a.distance - b.distance)[0]
}

function partsOf(vectors: FakeVectors[string] | undefined): readonly FakePart[] {
  const parts: FakePart[] = []
  const numbers: number[] = []
  for (const one of vectors ?? []) {
    if (typeof one === 'number') numbers.push(one)
    else parts.push(one)
  }
  return numbers.length > 0 ? [{ vector: numbers, start: 0, end: 0 }] : parts
}

function overTheWire(value: unknown): unknown {
  const out = new WireWriter()
  runAtOnce(writeValue(out, deserialize(serialize(value))))
  return runAtOnce(readIndexAnswer(new WireReader(out.joined())))
}

function packed(hits: readonly NearestHit[], total: number): PackedNearest {
  const keys = hits.map(({ key }) => key)
  return {
    total,
    keyEnds: Uint32Array.from(keys, (_, i) =>
      keys.slice(0, i + 1).reduce((sum, one) => sum + one.length, 0),
    ),
    keys: Uint8Array.from(Buffer.concat(keys)),
    ordinals: Uint32Array.from(hits, ({ ordinal }) => ordinal),
    distances: Float64Array.from(hits, ({ distance }) => distance),
    rows: Uint32Array.from(hits, ({ row }) => row),
    starts: Uint32Array.from(hits, ({ start }) => start),
    ends: Uint32Array.from(hits, ({ end }) => end),
  }
}
