import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock, type Clock } from '../../../../../../lib/clock.ts'
import { isServiceError } from '../../../../../../lib/errors.ts'
import type { EngineQuery } from '../../../../../../node/index/text/engine-query.ts'
import type { IndexableDocument } from '../../../../../../node/index/text/indexable-document.ts'
import { NO_ORDINAL } from '../../../../../../node/index/text/segment/segment.ts'
import { defaultTextIndexLimits } from '../../../../../../node/index/text/engine/text-index-options.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import { tokenListOf } from '../../../../../support/worlds/field-tokens.ts'

function documentOf(key: string, text: string, more: IndexableDocument['fields'] = []) {
  const words = text.split(' ')
  const tokens = tokenListOf(words.map((term, position) => ({ term, position })))
  const body = { kind: 'text', name: 'body', tokens, length: words.length } as const
  return { key: Buffer.from(key), expiresAtMs: 0, fields: [body, ...more] }
}

const term = (text: string): EngineQuery => ({ kind: 'term', field: 'body', term: text, boost: 1 })
const all: EngineQuery = { kind: 'all', boost: 1 }

function find(index: TextIndex, query: EngineQuery, more: object = {}) {
  const request = { query, limit: 1000, countTotal: true, nowMs: 1 }
  const { hits } = index.search({ ...request, ...more })
  return hits.map(({ key, score }) => ({ key: Buffer.from(key).toString(), score }))
}

const keysOf = (index: TextIndex, query: EngineQuery, more: object = {}): string[] =>
  find(index, query, more).map(({ key }) => key)

describe('the text index', () => {
  let directory = ''
  const open = (at: string | undefined = directory): TextIndex =>
    TextIndex.open({ directory: at, clock: new ManualClock() })

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-index-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  function fillAndFlush(): TextIndex {
    const index = open()
    const place = { kind: 'point', name: 'place', values: [{ lon: 1, lat: 2 }] } as const
    const tag = { kind: 'keyword', name: 'tag', values: ['red', 'blue'] } as const
    const rank = { kind: 'number', name: 'rank', values: [2, 1] } as const
    const upserts = [
      documentOf('a', 'the quick fox', [tag]),
      documentOf('b', 'the lazy dog', [rank, place]),
      { ...documentOf('c', 'the quick quick dog and fox'), expiresAtMs: 5000 },
    ]
    index.apply({ sequence: 3, upserts, deletes: [] })
    index.flush()
    return index
  }

  it('scores by BM25, as worked by hand', () => {
    const index = open(undefined)
    const upserts = [
      documentOf('a', 'fox'),
      documentOf('b', 'fox dog dog'),
      documentOf('c', 'cat cat'),
    ]
    index.apply({ sequence: 1, upserts, deletes: [] })

    // N 3, df 2: idf = ln(1 + 1.5 / 2.5) = 0.4700036. Average length 2.
    // a: 2.2 / (1 + 1.2 * (0.25 + 0.75 / 2)) = 2.2 / 1.75 = 1.2571429
    // b: 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1.5)) = 2.2 / 2.65 = 0.8301887
    const [first, second, ...others] = find(index, term('fox'))
    expect(first?.key).to.equal('a')
    expect(first?.score).to.be.closeTo(0.4700036 * 1.2571429, 1e-6)
    expect(second?.key).to.equal('b')
    expect(second?.score).to.be.closeTo(0.4700036 * 0.8301887, 1e-6)
    expect(others).to.deep.equal([])
  })

  it('scores with the statistics of the query', () => {
    const index = open(undefined)
    index.apply({ sequence: 1, upserts: [documentOf('a', 'fox')], deletes: [] })
    const fields = new Map([['body', { docCount: 9, totalLength: 9 }]])
    const statistics = { fields, docFreqs: new Map([['body\0fox', 1]]), expansions: new Map() }

    // ln(1 + 8.5 / 1.5) with length 1 of average 1: 2.2 / 2.2.
    expect(find(index, term('fox'), { statistics })[0]?.score).to.be.closeTo(1.89712, 1e-6)
  })

  it('finds a document as soon as it is applied, and its new state after an update', () => {
    const index = fillAndFlush()
    index.apply({ sequence: 4, upserts: [documentOf('a', 'a bear')], deletes: [Buffer.from('b')] })

    expect(keysOf(index, term('bear'))).to.deep.equal(['a'])
    expect(keysOf(index, term('fox'))).to.deep.equal(['c'])
    expect(keysOf(index, term('lazy'))).to.deep.equal([])
    expect(index.stats()).to.include({ documents: 2, deleted: 2 })
    index.close()
  })

  it('does not find expired documents', () => {
    const index = fillAndFlush()

    expect(keysOf(index, all, { nowMs: 4999 })).to.deep.equal(['a', 'b', 'c'])
    expect(keysOf(index, all, { nowMs: 5000 })).to.deep.equal(['a', 'b'])
    index.close()
  })

  it('sorts by columns with missing values last, and continues behind a hit', () => {
    const index = fillAndFlush()
    const sort = [{ by: 'column', field: 'tag', descending: true }] as const
    const page = {
      query: all,
      limit: 1,
      countTotal: false,
      nowMs: 1,

      sort,
    }

    const first = index.search(page).hits
    expect(first.map(({ sortValues }) => sortValues)).to.deep.equal([['red']])
    const second = index.search({ ...page, limit: 5, after: first[0]! }).hits
    expect(second.map(({ key }) => Buffer.from(key).toString())).to.deep.equal(['b', 'c'])
    index.close()
  })

  it('passes every match and its columns to a visitor', () => {
    const index = fillAndFlush()
    const found: number[][] = []
    index.collect({ query: term('lazy'), nowMs: 1 }, (live, docs) => {
      const column = live.segment.field('rank')?.column
      for (const doc of docs) found.push([column!.value(doc, 0), column!.value(doc, 1)])
    })

    expect(found).to.deep.equal([[1, 2]])
    index.close()
  })

  it('finds the documents of a set of any number of terms', () => {
    const index = open(undefined)
    const upserts = Array.from({ length: 3000 }, (_, i) => documentOf(`k${i}`, `word${i}`))
    index.apply({ sequence: 1, upserts, deletes: [] })
    const matcher = { prefix: 'word', upTo: undefined, matches: (t: string) => !t.endsWith('7') }
    const query = { kind: 'expand', field: 'body', matcher, boost: 1 } as const

    const { total } = index.search({ query, limit: 1, countTotal: true, nowMs: 1 })

    expect(total).to.equal(2700)
    index.close()
  })

  it('yields after about its budget while it flushes and merges', () => {
    let nowMs = 0
    const clock: Clock = Object.assign(new ManualClock(), { monotonicMs: () => (nowMs += 1) })
    const limits = { ...defaultTextIndexLimits, memorySegmentBytesMax: 1 }
    const index = TextIndex.open({ directory: undefined, clock, limits })
    const upserts = Array.from({ length: 3000 }, (_, i) => documentOf(`k${i}`, `w${i} x`))
    index.apply({ sequence: 1, upserts, deletes: [] })

    expect(index.maintain(1)).to.equal(true)
    expect(keysOf(index, term('w7'))).to.deep.equal(['k7'])
    while (index.maintain(5)) expect(keysOf(index, term('w2999'))).to.deep.equal(['k2999'])
    expect(index.stats()).to.include({ documents: 3000, segments: 1 })
  })

  it('opens as the last flush left it', () => {
    const index = fillAndFlush()
    index.apply({ sequence: 4, upserts: [documentOf('b', 'gone')], deletes: [Buffer.from('c')] })
    index.close()

    const again = open()
    expect(again.checkpoint).to.equal(3)
    expect(keysOf(again, all)).to.deep.equal(['a', 'b', 'c'])
    again.apply({ sequence: 4, upserts: [documentOf('b', 'gone')], deletes: [Buffer.from('c')] })
    again.flush()
    again.close()

    const third = open()
    expect(third.checkpoint).to.equal(4)
    expect(keysOf(third, all)).to.deep.equal(['a', 'b'])
    expect(keysOf(third, term('lazy'))).to.deep.equal([])
    third.close()
  })

  it('opens at the last manifest, whatever newer files a crash has left', () => {
    fillAndFlush().close()
    const newer = mkdtempSync(path.join(tmpdir(), 'text-index-newer-'))
    cpSync(directory, newer, { recursive: true })
    const next = open(newer)
    next.apply({ sequence: 4, upserts: [documentOf('d', 'fox')], deletes: [Buffer.from('a')] })
    next.flush()
    next.close()

    for (const name of readdirSync(newer)) {
      if (name === 'manifest' || readdirSync(directory).includes(name)) continue
      const whole = readFileSync(path.join(newer, name))
      for (let length = 0; length <= whole.length; length += 7) {
        writeFileSync(path.join(directory, name), whole)
        truncateSync(path.join(directory, name), length)
        const index = open()
        expect(index.checkpoint).to.equal(3)
        expect(keysOf(index, term('fox'))).to.deep.equal(['a', 'c'])
        index.close()
        expect(readdirSync(directory)).to.not.include(name)
      }
    }
    rmSync(newer, { recursive: true })
  })

  it('reports CORRUPTION for every flipped byte of every file, and never a wrong hit', () => {
    const index = fillAndFlush()
    index.apply({ sequence: 4, upserts: [], deletes: [Buffer.from('a')] })
    index.flush()
    index.close()
    const names = readdirSync(directory)
    expect(names).to.have.members(['manifest', '1.segment', '1-1.deleted'])

    for (const name of names) {
      const file = path.join(directory, name)
      const whole = readFileSync(file)
      for (let at = 0; at < whole.length; at += 1) {
        const flipped = Buffer.from(whole)
        flipped[at] = flipped[at]! ^ 0x41
        writeFileSync(file, flipped)
        expect(
          codeOf(() => keysOf(open(), term('fox'))),
          `${name} byte ${at}`,
        ).to.equal('CORRUPTION')
      }
      rmSync(file)
      expect(codeOf(open), `${name} missing`).to.equal('CORRUPTION')
      writeFileSync(file, whole)
    }
  })

  it('writes the bytes of the golden file', () => {
    fillAndFlush().close()

    expect(segmentHex()).to.equal(goldenHex('text-segment.hex'))
  })

  it('reads the golden file of version 1', () => {
    fillAndFlush().close()
    writeSegmentHex(goldenHex('text-segment-1.hex'))

    const index = open()
    expect(keysOf(index, term('fox'))).to.deep.equal(['a', 'c'])
    expect(keysOf(index, { kind: 'exists', field: 'tag', boost: 1 })).to.deep.equal(['a'])
    expect(keysOf(index, between('rank', 1, 2))).to.deep.equal(['b'])
    index.close()
  })

  function fillWithOrdinals(): void {
    const index = open()
    const upserts = [
      { ...documentOf('a', 'fox'), ordinal: 0x01020304 },
      documentOf('b', 'dog'),
      { ...documentOf('c', 'fox'), ordinal: 7 },
    ]
    index.apply({ sequence: 3, upserts, deletes: [] })
    index.flush()
    index.close()
  }

  it('writes the bytes of the golden file with ordinals, and reads them and those of version 1', () => {
    fillWithOrdinals()
    expect(segmentHex()).to.equal(goldenHex('text-segment-ordinals.hex'))

    for (const name of ['text-segment-ordinals.hex', 'text-segment-ordinals-1.hex']) {
      writeSegmentHex(goldenHex(name))
      const index = open()
      const snapshot = index.snapshot()
      const [live] = snapshot.segments
      const ordinals = [...(live?.segment.ordinalsOf(0, 3) ?? [])]
      expect(ordinals, name).to.deep.equal([0x01020304, NO_ORDINAL, 7])
      snapshot.release()
      index.close()
    }
  })

  it('writes the bytes of the golden file with fields of few documents, and reads them', () => {
    const index = open()
    const tokens = tokenListOf([{ term: 'owl', position: 0 }])
    const rare = { kind: 'text', name: 'rare', tokens, length: 1 }
    const tag = { kind: 'keyword', name: 'tag', values: ['red', 'blue'] } as const
    const rank = { kind: 'number', name: 'rank', values: [2, 1] } as const
    const place = { kind: 'point', name: 'place', values: [{ lon: 1, lat: 2 }] } as const
    const fields = new Map<number, IndexableDocument['fields']>([
      [3, [{ ...rare, kind: 'text' }, tag]],
      [17, [rank, place, { ...tag, values: ['red'] }]],
      [39, [{ ...rare, kind: 'text' }, place]],
    ])
    const upserts = Array.from({ length: 40 }, (_, i) => {
      return documentOf(`k${String(i).padStart(2, '0')}`, 'fox', fields.get(i))
    })
    index.apply({ sequence: 3, upserts, deletes: [] })
    index.flush()
    index.close()

    expect(segmentHex()).to.equal(goldenHex('text-segment-listed.hex'))
    const again = open()
    const owl: EngineQuery = { kind: 'term', field: 'rare', term: 'owl', boost: 1 }
    expect(keysOf(again, owl)).to.deep.equal(['k03', 'k39'])
    expect(keysOf(again, between('rank', 2, 3))).to.deep.equal(['k17'])
    for (const [field, keys] of [
      ['tag', ['k03', 'k17']],
      ['place', ['k17', 'k39']],
    ] as const) {
      expect(keysOf(again, { kind: 'exists', field, boost: 1 }), field).to.deep.equal(keys)
    }
    again.close()
  })

  function segmentHex(): string {
    return readFileSync(path.join(directory, '1.segment')).toString('hex')
  }

  function writeSegmentHex(hex: string): void {
    writeFileSync(path.join(directory, '1.segment'), Buffer.from(hex, 'hex'))
  }
})

function between(field: string, min: number, max: number): EngineQuery {
  return { kind: 'range', field, min, max, boost: 1 }
}

function goldenHex(name: string): string {
  const file = path.resolve(import.meta.dirname, '../../../../../golden', name)
  return readFileSync(file, 'utf8').replaceAll('\n', '')
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'no error'
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
}
