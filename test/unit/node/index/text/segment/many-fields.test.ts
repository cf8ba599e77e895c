import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import type {
  IndexableDocument,
  IndexableField,
} from '../../../../../../node/index/text/indexable-document.ts'
import type { SegmentFieldKind } from '../../../../../../node/index/text/segment/segment.ts'
import { tokenListOf } from '../../../../../support/worlds/field-tokens.ts'

const FIELDS = 1000
const DOCUMENTS = 2000

/** A kind of field that is not here does not compile: each has to cost what is there. */
const fieldOf: Record<SegmentFieldKind, (name: string, n: number) => IndexableField> = {
  text: (name, n) => ({
    kind: 'text',
    name,
    tokens: tokenListOf([{ term: `w${n % 7}`, position: 0 }]),
    length: 1,
  }),
  keyword: (name, n) => ({ kind: 'keyword', name, values: [`w${n % 7}`] }),
  number: (name, n) => ({ kind: 'number', name, values: [n] }),
  point: (name, n) => ({ kind: 'point', name, values: [{ lon: n % 90, lat: 1 }] }),
}

/** The most bytes that a document with one field takes: its key, its value, its places in lists. */
const DOCUMENT_BYTES_MAX: Record<'memory' | 'files' | 'shared', number> = {
  memory: 320,
  files: 64,
  shared: 16,
}

interface Bytes {
  /** What the index counts before its documents are on disk. */
  readonly memory: number
  readonly files: number
  /** What all threads share of the segments, and the index holds as long as it is open. */
  readonly shared: number
}

/** Documents, each with one of a thousand fields, in so many flushes and one segment in the end. */
function bytesOf(kind: SegmentFieldKind, documents: number, flushes: number): Bytes {
  const directory = mkdtempSync(path.join(tmpdir(), 'many-fields-'))
  const index = TextIndex.open({ directory, clock: new ManualClock() })
  let memory = 0
  for (let flush = 0; flush < flushes; flush += 1) {
    const upserts = []
    for (let n = flush; n < documents; n += flushes) {
      const field = fieldOf[kind](`f${n % FIELDS}`, n)
      const key = Buffer.from(`k${String((n * 7919) % 65_536).padStart(6, '0')}`)
      upserts.push({ key, expiresAtMs: 0, fields: [field] })
    }
    index.apply({ sequence: flush + 1, upserts, deletes: [] })
    memory = Math.max(memory, index.unflushedBytes)
    index.flush()
  }
  while (index.maintain(1));
  const { bytesOnDisk, segments } = index.stats()
  const view = index.view()
  const [{ resident } = { resident: undefined }] = view.description.segments
  const shared = (resident?.filter.length ?? 0) + (resident?.norms.length ?? 0)
  view.release()
  index.close()
  rmSync(directory, { recursive: true })
  expect(segments, 'everything is merged').to.equal(1)
  return { memory, files: bytesOnDisk, shared }
}

/** A document that alone has its fields, one of each kind. */
function ownFieldsOf(n: number): IndexableDocument {
  const fields = Object.values(fieldOf).map((make, i) => make(`f${n}-${i}`, n))
  return { key: Buffer.from(`k${String(n).padStart(4, '0')}`), expiresAtMs: 0, fields }
}

describe('documents of a thousand fields that each have one', () => {
  for (const kind of ['text', 'keyword', 'number', 'point'] as const) {
    for (const flushes of [1, 12]) {
      it(`cost no byte for the fields that they lack: ${kind}, written in ${flushes} flushes`, () => {
        const few = bytesOf(kind, DOCUMENTS, flushes)
        const many = bytesOf(kind, 2 * DOCUMENTS, flushes)

        // The fields are the same, so that the difference is that of the documents alone.
        const measured =
          flushes === 1 ? (['memory', 'files', 'shared'] as const) : (['files', 'shared'] as const)
        for (const what of measured) {
          const perDocument = (many[what] - few[what]) / DOCUMENTS
          expect(perDocument, what).to.be.within(0.01, DOCUMENT_BYTES_MAX[what])
        }
      })
    }
  }

  it('leave nothing of their fields behind when they are gone', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    const upserts = Array.from({ length: 200 }, (_, n) => ownFieldsOf(n))
    index.apply({ sequence: 1, upserts, deletes: [] })
    index.flush()
    index.apply({ sequence: 2, upserts: [], deletes: upserts.slice(1).map(({ key }) => key) })
    index.flush()
    while (index.maintain(1));

    const snapshot = index.snapshot()
    const names = snapshot.segments.flatMap(({ segment }) => [...segment.fieldNames()])
    snapshot.release()
    expect(names).to.deep.equal(['f0-0', 'f0-1', 'f0-2', 'f0-3'])
    index.close()
  })
})
