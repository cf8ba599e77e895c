// Real processes, which read what is hostile.

import { env } from 'node:process'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import type { DocumentReading } from '../../../../node/media/document-protocol.ts'
import { DocumentReader } from '../../../../node/media/document-reader.ts'
import { errorOf } from '../../../support/error-of.ts'
import { flateBomb, pdfOf, pdfText } from '../../../support/worlds/pdf-documents.ts'

const PDF = { kind: 'pdf', textLengthMax: 1000, imageEdgePixelsMax: 400 } as const
const HTML = { kind: 'html', textLengthMax: 1000, charset: undefined } as const

describe('the reader of documents', () => {
  let reader: DocumentReader
  const never = new AbortController().signal

  beforeEach(() => {
    reader = open()
  })

  afterEach(() => reader.close())

  it('reads the text of a PDF, and draws the first page of one without text', async () => {
    const text = await reader.read(pdfOf(pdfText('Hello', 'world')), PDF, never)
    const page = await reader.read(pdfOf('1 0 0 rg 50 50 100 100 re f'), PDF, never)

    expect(text).to.deep.equal({ kind: 'text', text: 'Hello\nworld' })
    expect(page.kind).to.equal('page')
    expect(Buffer.from(page.kind === 'page' ? page.png : []).readUInt32BE(16)).to.equal(400)
    expect(reader.processCount).to.equal(1)
  })

  it('finds the article of a page, and says when there is none', async () => {
    const words = '<p>Words of an article, with commas, and more of them.</p>'.repeat(20)
    const body = `<nav>menu</nav><article>${words}</article>`
    const html = `<html><head><title>T</title></head><body>${body}</body></html>`

    const found = await reader.read(Buffer.from(html), HTML, never)
    const fragment = await reader.read(Buffer.from(body), HTML, never)
    const none = await reader.read(Buffer.from(''), HTML, never)

    expect(found).to.include({ kind: 'article', title: 'T' })
    expect(found.kind === 'article' && found.html)
      .to.include('Words of an article')
      .and.not.include('menu')
    expect(fragment.kind).to.equal('article')
    expect(none.kind).to.equal('refused')
  })

  const refusals: Readonly<Record<string, readonly [pdf: () => Buffer, why: string]>> = {
    'what is not a PDF': [() => Buffer.from('%PDF-1.4 not really'), 'Invalid PDF'],
    'a long text': [
      () => pdfOf(pdfText(...Array<string>(10).fill('x'.repeat(200)))),
      'more than 1000 characters',
    ],
    'a stream that unpacks to gigabytes': [
      () => pdfOf(flateBomb(3)),
      'it may need more than 1536 MiB of memory',
    ],
  }
  for (const [what, [pdf, why]] of Object.entries(refusals)) {
    it(`refuses ${what}, and reads the next document`, async () => {
      const refused = await reader.read(pdf(), PDF, never)
      const next = await reader.read(pdfOf(pdfText('next')), PDF, never)

      expect(refused).to.have.property('why').that.includes(why)
      expect(next).to.deep.equal({ kind: 'text', text: 'next' })
    })
  }

  it('answers at once for a document without bytes', async () => {
    const reading = await reader.read(Buffer.alloc(0), PDF, never)

    expect(reading).to.have.property('why').that.includes('empty')
  })

  it('reads many documents in one process, one after the other', async () => {
    for (let n = 0; n < 40; n += 1) {
      const reading = await reader.read(pdfOf(pdfText(`document ${n}`)), PDF, never)
      expect(reading).to.deep.equal({ kind: 'text', text: `document ${n}` })
    }

    expect(reader.processCount).to.equal(1)
  })

  it('ends a process that takes too long', async () => {
    await using slow = { reader: open(1000), [Symbol.asyncDispose]: () => slow.reader.close() }

    const refused = await slow.reader.read(Buffer.from('<div>'.repeat(200_000)), HTML, never)

    expect(refused).to.deep.equal({ kind: 'refused', why: 'reading it takes more than 1000 ms' })
    expect(slow.reader.processCount).to.equal(0)
  })

  it('reads one document at a time in each process, and lets waiting readers give up', async () => {
    const stop = new AbortController()
    const first = reader.read(pdfOf(pdfText('first')), PDF, never)
    const second = errorOf(() => reader.read(pdfOf(pdfText('second')), PDF, stop.signal))
    const third = reader.read(pdfOf(pdfText('third')), PDF, never)

    stop.abort(new Error('gone'))

    const readings: DocumentReading[] = await Promise.all([first, third])
    expect(readings.map((reading) => reading.kind === 'text' && reading.text)).to.deep.equal([
      'first',
      'third',
    ])
    expect(await second).to.equal(stop.signal.reason)
    expect(reader.processCount).to.equal(1)
  })

  it('ends a process whose reader gives up in the middle', async () => {
    const stop = new AbortController()
    const reading = errorOf(() =>
      reader.read(Buffer.from('<div>'.repeat(200_000)), HTML, stop.signal),
    )

    stop.abort(new Error('gone'))

    expect(await reading).to.equal(stop.signal.reason)
    expect(await reader.read(pdfOf(pdfText('next')), PDF, never)).to.include({ text: 'next' })
  })
})

function open(timeoutMs = 60_000, processesMax = 1): DocumentReader {
  return new DocumentReader({ clock: systemClock, environment: env, timeoutMs, processesMax })
}
