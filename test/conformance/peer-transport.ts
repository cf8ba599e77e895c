import { expect } from 'chai'
import type { ByteChannel, ChannelListener, PeerTransport } from '../../node/peer/transport.ts'
import { errorOf } from '../support/error-of.ts'

/** A transport, and how it reaches what it listens on. */
export interface OpenedTransport {
  readonly transport: PeerTransport
  readonly host: string
  until(condition: () => boolean): Promise<void>
}

/** One end of a channel and what it heard. */
class HeardEnd {
  readonly channel: ByteChannel
  readonly heard: Buffer[] = []
  readonly closed: string[] = []
  drains = 0

  constructor(channel: ByteChannel) {
    this.channel = channel
    channel.attach({
      onBytes: (bytes) => this.heard.push(Buffer.from(bytes)),
      onDrain: () => (this.drains += 1),
      onClosed: (reason) => this.closed.push(reason),
    })
  }

  get bytes(): Buffer {
    return Buffer.concat(this.heard)
  }
}

/** Every PeerTransport must pass. */
export function describePeerTransport(name: string, open: () => OpenedTransport): void {
  describe(`${name}: PeerTransport contract`, () => {
    let opened: OpenedTransport
    let listener: ChannelListener
    let accepted: HeardEnd[]
    let near: HeardEnd

    beforeEach(async () => {
      opened = open()
      accepted = []
      const { transport, host } = opened
      listener = await transport.listen(0, (channel) => accepted.push(new HeardEnd(channel)))
      near = new HeardEnd(await transport.connect({ host, port: listener.port }, neverAborts()))
      await opened.until(() => accepted.length === 1)
    })
    afterEach(async () => {
      near.channel.destroy()
      await listener.close()
    })

    const far = (): HeardEnd => accepted[0]!

    it('carries bytes in order, both ways', async () => {
      for (let at = 0; at < 300; at++) near.channel.write(Buffer.alloc(1 + (at % 5), at))
      far().channel.write(Buffer.from('answer'))
      await opened.until(() => far().bytes.length === 900 && near.bytes.length === 6)

      const expected = Array.from({ length: 300 }, (_, at) => Buffer.alloc(1 + (at % 5), at))
      expect(far().bytes.equals(Buffer.concat(expected))).to.equal(true)
      expect(near.bytes.toString()).to.equal('answer')
    })

    it('asks to wait when much is on its way, and says when it takes more', async () => {
      let writes = 0
      while (near.channel.write(Buffer.alloc(64 * 1024, 1))) {
        writes += 1
        if (writes > 2000) break
      }
      await opened.until(() => near.drains > 0)

      expect(writes).to.be.below(2000)
      await opened.until(() => far().bytes.length === (writes + 1) * 64 * 1024)
    })

    it('ends after everything that was written, and tells both ends once', async () => {
      near.channel.write(Buffer.alloc(500_000, 5))
      near.channel.end()
      near.channel.end()
      await opened.until(() => far().closed.length > 0 && near.closed.length > 0)

      expect(far().bytes.length).to.equal(500_000)
      near.channel.destroy()
      expect(near.channel.write(Buffer.from('late'))).to.equal(false)
      expect([near.closed.length, far().closed.length]).to.deep.equal([1, 1])
    })

    it('tells both ends of a destroyed channel once', async () => {
      far().channel.destroy()
      far().channel.destroy()
      await opened.until(() => far().closed.length > 0 && near.closed.length > 0)

      expect([near.closed.length, far().closed.length]).to.deep.equal([1, 1])
    })

    it('keeps accepted channels when the listener closes, and connects no more', async () => {
      const { port } = listener
      await listener.close()
      near.channel.write(Buffer.from('still'))
      await opened.until(() => far().bytes.length === 5)

      const { transport, host } = opened
      const error = await errorOf(() => transport.connect({ host, port }, neverAborts()))
      expect(error).to.be.instanceOf(Error)
    })

    it('gives up connecting for the reason of the signal', async () => {
      const reason = new Error('too late')
      const { transport, host } = opened
      const connecting = transport.connect({ host, port: 1 }, AbortSignal.abort(reason))

      expect(await errorOf(() => connecting)).to.equal(reason)
    })
  })
}

function neverAborts(): AbortSignal {
  return new AbortController().signal
}
