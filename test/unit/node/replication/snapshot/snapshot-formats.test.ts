import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { encodeEntry, EntryParser } from '../../../../../node/replication/snapshot/entry-stream.ts'
import {
  decodeHash,
  decodeHashRequest,
  decodeHeader,
  decodeId,
  decodeOpen,
  decodePages,
  encodeHash,
  encodeHashRequest,
  encodeHeader,
  encodeId,
  encodeOpen,
  encodePages,
  FIRST_PAGE,
  isFileName,
} from '../../../../../node/replication/snapshot/snapshot-messages.ts'
import {
  decodePage,
  encodePage,
  type PageContent,
} from '../../../../../node/replication/snapshot/snapshot-page.ts'
import type { KvEntry } from '../../../../../node/storage/kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'

const golden: Record<string, string> = JSON.parse(
  readFileSync(new URL('../../../../golden/replica-snapshot.json', import.meta.url), 'utf8'),
)

const ID = '00112233445566778899aabbccddeeff'
const LOG = '00000000000000aa'
const POSITION = { sequence: 0x1234_5678_9abc, epoch: 7, crc: 0xfedc_ba98 }
const HEADER = {
  id: ID,
  position: POSITION,
  storeBytes: 5_000_000_000,
  files: [
    { directory: 'words-v0', name: 'manifest', bytes: 90 },
    { directory: 'words-v0', name: '1-2.deleted', bytes: 0 },
  ],
}
const ENTRIES: readonly KvEntry[] = [
  [Buffer.from('a'), Buffer.from('one')],
  [Buffer.from('b'), Buffer.alloc(0)],
]
const STREAM = Buffer.concat(ENTRIES.map((entry) => encodeEntry(entry)))
const PAGES: readonly PageContent[] = [
  { kind: 'entries', bytes: STREAM },
  { kind: 'file', file: 0, bytes: Buffer.from('{}') },
  { kind: 'end', entries: 2, contentHash: Buffer.alloc(32, 1), filesHash: Buffer.alloc(32, 2) },
]

/** By name, a message, and how it is read again. */
const MESSAGES = {
  open: [encodeOpen({ logId: LOG, atLeast: 300 }), decodeOpen, { logId: LOG, atLeast: 300 }],
  header: [encodeHeader(HEADER), decodeHeader, HEADER],
  pages: [
    encodePages({ id: ID, after: { number: 9, crc: 0xabcd } }),
    decodePages,
    { id: ID, after: { number: 9, crc: 0xabcd } },
  ],
  close: [encodeId(ID), decodeId, ID],
  'ask for the content hash': [
    encodeHashRequest({ logId: LOG, sequence: 300 }),
    decodeHashRequest,
    { logId: LOG, sequence: 300 },
  ],
  'content hash': [
    encodeHash({ position: POSITION, hash: Buffer.alloc(32, 5) }),
    decodeHash,
    { position: POSITION, hash: Buffer.alloc(32, 5) },
  ],
} as const

function encodedPages(): readonly Buffer[] {
  let mark = FIRST_PAGE
  return PAGES.map((content) => {
    const page = encodePage(content, mark)
    mark = page.mark
    return page.bytes
  })
}

describe('the messages about snapshots', () => {
  for (const [name, [bytes, decode, value]] of Object.entries(MESSAGES)) {
    it(`have the bytes of the format: ${name}`, () => {
      expect(bytes.toString('hex')).to.equal(golden[name])
      expect(decode(bytes)).to.deep.equal(value)
    })

    it(`are refused when they are cut short, too long or of another format: ${name}`, async () => {
      const long = Buffer.concat([bytes, Buffer.of(0)])
      const other = Buffer.concat([Buffer.of(2), bytes.subarray(1)])
      const short = Array.from({ length: bytes.length }, (_, end) => bytes.subarray(0, end))
      for (const wrong of [long, other, ...short]) {
        expect(await errorOf(() => decode(wrong))).to.include({ code: 'CORRUPTION' })
      }
    })
  }

  const names = ['..', '.', '.hidden', '', 'a/b', 'a\\b', 'a\0b', 'ä', 'x'.repeat(201)]
  for (const name of names) {
    it(`name no file ${JSON.stringify(name.slice(0, 10))}`, async () => {
      const files = [{ directory: 'words-v0', name, bytes: 1 }]
      const wrong = encodeHeader({ ...HEADER, files })

      expect(isFileName(name)).to.equal(false)
      expect(await errorOf(() => decodeHeader(wrong))).to.include({ code: 'CORRUPTION' })
    })
  }

  it('name no file twice', async () => {
    const files = [...HEADER.files, ...HEADER.files.slice(0, 1)]

    const error = await errorOf(() => decodeHeader(encodeHeader({ ...HEADER, files })))

    expect(error).to.include({ code: 'CORRUPTION' })
  })
})

describe('the pages of a snapshot', () => {
  it('have the bytes of the format', () => {
    const pages = encodedPages().map((page) => page.toString('hex'))

    expect(pages).to.deep.equal(PAGES.map(({ kind }) => golden[`page: ${kind}`]))
  })

  it('are read one after another', () => {
    let mark = FIRST_PAGE
    const contents = encodedPages().map((page) => {
      const decoded = decodePage(page, mark)
      mark = decoded.mark
      return decoded.content
    })

    expect(contents).to.deep.equal(PAGES)
  })

  it('are refused with any bit flipped', async () => {
    for (const page of encodedPages().slice(0, 1)) {
      for (let bit = 0; bit < page.length * 8; bit++) {
        const flipped = Buffer.from(page)
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(await errorOf(() => decodePage(flipped, FIRST_PAGE))).to.include({
          code: 'CORRUPTION',
        })
      }
    }
  })

  it('are refused out of order', async () => {
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = encodedPages()
    const { mark } = decodePage(first, FIRST_PAGE)

    for (const [page, before] of [
      [second, FIRST_PAGE],
      [first, mark],
      [second, { ...mark, number: 2 }],
    ] as const) {
      expect(await errorOf(() => decodePage(page, before))).to.include({ code: 'CORRUPTION' })
    }
  })
})

describe('the stream of entries', () => {
  it('is read again from parts that are cut anywhere', () => {
    const key20 = fc.uint8Array({ maxLength: 20 })
    const stored = fc.uniqueArray(fc.tuple(key20, fc.uint8Array({ maxLength: 300 })), {
      selector: ([key]) => Buffer.from(key).toString('hex'),
      maxLength: 30,
    })
    const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(stored, sizes, (unsorted, cuts) => {
        const entries = unsorted
          .map(([key, value]): KvEntry => [Buffer.from(key), Buffer.from(value)])
          .toSorted(([a], [b]) => Buffer.compare(a, b))
        const stream = Buffer.concat(entries.map((entry) => encodeEntry(entry)))
        const parser = new EntryParser()
        const read: KvEntry[] = []
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const size = cuts[turn % cuts.length] ?? 1
          read.push(...parser.take(stream.subarray(at, at + size)))
          at += size
        }

        expect(read).to.deep.equal(entries)
        expect(parser.count).to.equal(entries.length)
        expect(parser.isBetweenEntries).to.equal(true)
      }),
    )
  })

  it('is refused when keys do not increase', async () => {
    const twice = Buffer.concat([STREAM, STREAM])

    expect(await errorOf(() => new EntryParser().take(twice))).to.include({ code: 'CORRUPTION' })
  })

  it('is refused when an entry is longer than any can be', async () => {
    const long = Buffer.from('0001ffffffff61', 'hex')

    expect(await errorOf(() => new EntryParser().take(long))).to.include({ code: 'CORRUPTION' })
  })

  it('is not whole in the middle of an entry', () => {
    const parser = new EntryParser()
    parser.take(STREAM.subarray(0, STREAM.length - 1))

    expect([parser.count, parser.isBetweenEntries]).to.deep.equal([1, false])
  })
})
