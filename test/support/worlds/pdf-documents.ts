// PDFs written by hand: the smallest that a reader takes.

import { constants, deflateRawSync } from 'node:zlib'

/** What the only page draws, in PDF's operators; a Flate stream if it is given as bytes. */
export function pdfOf(content: string | Buffer): Buffer {
  const stream = Buffer.from(content)
  const filter = typeof content === 'string' ? '' : '/Filter/FlateDecode'
  const objects: readonly (readonly Buffer[])[] = [
    [Buffer.from('<</Type/Catalog/Pages 2 0 R>>')],
    [Buffer.from('<</Type/Pages/Kids[3 0 R]/Count 1>>')],
    [
      Buffer.from(
        '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R' +
          '/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>',
      ),
    ],
    [
      Buffer.from(`<</Length ${stream.length}${filter}>>\nstream\n`),
      stream,
      Buffer.from('\nendstream'),
    ],
  ]
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')]
  const offsets: number[] = []
  for (const [at, object] of objects.entries()) {
    offsets.push(parts.reduce((length, part) => length + part.length, 0))
    parts.push(Buffer.from(`${at + 1} 0 obj\n`), ...object, Buffer.from('\nendobj\n'))
  }
  const xrefAt = parts.reduce((length, part) => length + part.length, 0)
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`)
  const xref = `xref\n0 5\n0000000000 65535 f \n${entries.join('')}`
  const trailer = `trailer<</Size 5/Root 1 0 R>>\nstartxref\n${xrefAt}\n%%EOF\n`
  return Buffer.concat([...parts, Buffer.from(xref + trailer)])
}

/** The operators that write lines of text. */
export function pdfText(...lines: readonly string[]): string {
  return `BT /F1 1 Tf 20 180 Td 2 TL ${lines.map((line) => `(${line}) Tj T*`).join(' ')} ET`
}

/** A Flate stream that unpacks to so many gigabytes of spaces, from some kilobytes for each. */
export function flateBomb(gigabytes: number): Buffer {
  const unpacked = Buffer.alloc(32 * 1024 * 1024, ' ')
  const segment = deflateRawSync(unpacked, { finishFlush: constants.Z_FULL_FLUSH })
  const count = Math.ceil((gigabytes * 1024) / 32)
  return Buffer.concat([
    Buffer.from('789c', 'hex'),
    ...Array.from({ length: count }, () => segment),
  ])
}
