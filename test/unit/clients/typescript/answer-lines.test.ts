import { expect } from 'chai'
import { eventsOf, linesOf } from '../../../../clients/typescript/src/answer-lines.ts'
import type { AnswerStream } from '../../../../clients/typescript/src/answer-lines.ts'
import { ConnectionError } from '../../../../clients/typescript/src/errors.ts'
import { errorOf } from '../../../support/error-of.ts'

/** An answer that arrives in these pieces, and then ends or breaks off. */
function answer(pieces: readonly (string | Uint8Array)[], end?: Error): AnswerStream {
  const bytes = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  const stream = ReadableStream.from(
    (async function* () {
      yield* bytes
      if (end !== undefined) throw end
    })(),
  )
  return { bytes: stream, signal: undefined }
}

const BROKEN = new TypeError('terminated')

describe('the lines of an answer', () => {
  it('are put together from pieces', async () => {
    const lines = linesOf(answer(['{"a":', '1}\n{"b"', ':2}\n', '\n{"c":3}\n']))
    expect(await Array.fromAsync(lines)).to.deep.equal(['{"a":1}', '{"b":2}', '', '{"c":3}'])
  })

  it('keep characters that a piece cuts', async () => {
    const bytes = Buffer.from('größe\n')
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte))
    expect(await Array.fromAsync(linesOf(answer(pieces)))).to.deep.equal(['größe'])
  })

  it('may end without a line feed', async () => {
    expect(await Array.fromAsync(linesOf(answer(['a\nb'])))).to.deep.equal(['a', 'b'])
  })

  // Were the line put together again with each piece, this would copy 400 GB.
  it('take time in proportion to their length', async () => {
    const pieces = Array.from({ length: 40_000 }, () => 'x'.repeat(512))
    const [line = ''] = await Array.fromAsync(linesOf(answer(pieces)))
    expect(line.length).to.equal(40_000 * 512)
  }).timeout(40_000)

  it('are yielded before the answer breaks off', async () => {
    const got: string[] = []
    const failure = await errorOf(async () => {
      for await (const line of linesOf(answer(['a\nb\nc'], BROKEN))) got.push(line)
    })

    expect(got).to.deep.equal(['a', 'b'])
    expect(failure).to.be.instanceOf(ConnectionError).and.to.have.property('cause', BROKEN)
  })

  it('cancel the answer when the caller leaves the loop', async () => {
    let cancelled = false
    const bytes = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from('a\nb\n')),
      cancel: () => {
        cancelled = true
      },
    })

    for await (const line of linesOf({ bytes, signal: undefined })) {
      expect(line).to.equal('a')
      break
    }

    expect(cancelled).to.equal(true)
  })
})

describe('the events of an answer', () => {
  it('are yielded without pings and the last one', async () => {
    const events = eventsOf(answer(['data: 1\n\n: still here\n\ndata: 2\n\ndata: [DONE]\n\n']))
    expect(await Array.fromAsync(events)).to.deep.equal(['1', '2'])
  })

  it('are incomplete without the last one', async () => {
    const failure = await errorOf(() => Array.fromAsync(eventsOf(answer(['data: 1\n\n']))))
    expect(failure).to.be.instanceOf(ConnectionError)
  })
})
