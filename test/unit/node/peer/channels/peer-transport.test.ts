import { setImmediate as immediate } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { Replaceable } from '../../../../../lib/replaceable.ts'
import { MemoryNetwork } from '../../../../../node/peer/channels/memory-network.ts'
import { TcpTransport } from '../../../../../node/peer/channels/tcp-transport.ts'
import type { TlsIdentity } from '../../../../../node/peer/channels/tcp-transport.ts'
import type { ByteChannel } from '../../../../../node/peer/transport.ts'
import { describePeerTransport } from '../../../../conformance/peer-transport.ts'
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../../../support/servers/tls-certificate.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { until } from '../../../../support/until.ts'

const untilTrue = (condition: () => boolean): Promise<void> => until(async () => condition())
const host = '127.0.0.1'

function identity(names: readonly string[]): TlsIdentity {
  const certificate = TEST_CERTIFICATE
  return { ca: TEST_CERTIFICATE, certificate, key: TEST_CERTIFICATE_KEY, names }
}

describePeerTransport('MemoryNetwork', () => ({
  transport: new MemoryNetwork(new ManualClock()).host('here'),
  host: 'here',
  until: untilTrue,
}))
describePeerTransport('TcpTransport', () => ({
  transport: new TcpTransport({ host }),
  host,
  until: untilTrue,
}))
describePeerTransport('TcpTransport with TLS', () => ({
  transport: new TcpTransport({
    host,
    tls: new Replaceable(identity(['127.0.0.1'])),
  }),
  host,
  until: untilTrue,
}))

describe('MemoryNetwork', () => {
  let clock: ManualClock
  let network: MemoryNetwork
  let near: ByteChannel
  const heard: string[] = []

  function listenTo(channel: ByteChannel, name: string): void {
    channel.attach({
      onBytes: (bytes) => heard.push(`${name} ${Buffer.from(bytes).toString()}`),
      onDrain: () => undefined,
      onClosed: () => heard.push(`${name} closed`),
    })
  }

  async function connect(name: string): Promise<ByteChannel> {
    const { signal } = new AbortController()
    const channel = await network.host('a').connect({ host: 'b', port: 1 }, signal)
    listenTo(channel, name)
    return channel
  }

  beforeEach(async () => {
    clock = new ManualClock()
    network = new MemoryNetwork(clock)
    heard.length = 0
    let count = 0
    await network.host('b').listen(1, (channel) => listenTo(channel, `far${(count += 1)}`))
    near = await connect('near')
  })

  it('delays bytes, keeps the order of a connection and not that of two', async () => {
    network.weather('a', 'b', { delayMs: 20 })
    near.write(Buffer.from('slow'))
    network.weather('a', 'b', { delayMs: 0 })
    near.write(Buffer.from('behind it'))
    const other = await connect('other')
    other.write(Buffer.from('fast'))
    await immediate()
    expect(heard).to.deep.equal(['far2 fast'])

    clock.advance(20)
    await immediate()
    expect(heard).to.deep.equal(['far2 fast', 'far1 slow', 'far1 behind it'])
  })

  it('swallows bytes and ends in one direction', async () => {
    network.weather('a', 'b', { isBlackHole: true })
    near.write(Buffer.from('lost'))
    near.destroy()
    await immediate()

    expect(heard).to.deep.equal(['near closed'])
  })

  it('ends one end before the other, or both at once', async () => {
    network.weather('b', 'a', { delayMs: 50 })
    network.cutOneEnd('b', 'a')
    await immediate()
    expect(heard).to.deep.equal(['far1 closed'])
    clock.advance(50)
    await immediate()
    expect(heard).to.deep.equal(['far1 closed', 'near closed'])

    network.weather('b', 'a', { delayMs: 0 })
    await connect('again')
    network.cut('b', 'a')
    await immediate()
    expect(heard.slice(2)).to.have.members(['again closed', 'far2 closed'])
  })

  it('delivers in order what a stalled connection was given, also after its end', async () => {
    const flow = network.stall('a', 'b')
    near.write(Buffer.from('one'))
    near.write(Buffer.from('two'))
    near.destroy()
    const other = await connect('other')
    other.write(Buffer.from('fast'))
    await immediate()
    expect(heard).to.deep.equal(['near closed', 'far2 fast'])

    clock.advance(60_000)
    flow()
    await immediate()
    expect(heard.slice(2)).to.deep.equal(['far1 one', 'far1 two'])

    clock.advance(200)
    await immediate()
    expect(heard.slice(4)).to.deep.equal(['far1 closed'])
  })

  it('stalls one direction, and is as before afterwards', async () => {
    network.stall('b', 'a')()
    const flow = network.stall('b', 'a')
    near.write(Buffer.from('there'))
    await immediate()
    flow()
    near.end()
    await immediate()

    expect(heard.slice(0, 2)).to.deep.equal(['far1 there', 'far1 closed'])
  })

  it('changes one bit of what a host sends next', async () => {
    network.corruptNext('a', 'b')
    near.write(Buffer.from('abc'))
    near.write(Buffer.from('abc'))
    await immediate()

    expect(heard).to.deep.equal(['far1 acc', 'far1 abc'])
  })
})

describe('TcpTransport with TLS', () => {
  it('refuses a client without a certificate of the authority', async () => {
    const secured = new TcpTransport({ host, tls: new Replaceable(identity(['*.test'])) })
    let accepted = 0
    const listener = await secured.listen(0, () => (accepted += 1))
    const plain = new TcpTransport({ host })
    const { signal } = new AbortController()
    const channel = await plain.connect({ host, port: listener.port }, signal)
    let isClosed = false
    channel.attach({
      onBytes: () => undefined,
      onDrain: () => undefined,
      onClosed: () => (isClosed = true),
    })
    channel.write(Buffer.from('QRYPEER and more than a record of TLS has for its head'))
    await untilTrue(() => isClosed)

    expect(accepted).to.equal(0)
    await listener.close()
  })

  it('refuses a certificate of the authority without a name of a node, at both ends', async () => {
    const { signal } = new AbortController()
    const nodes = new TcpTransport({ host, tls: new Replaceable(identity(['images.test'])) })
    const others = new TcpTransport({ host, tls: new Replaceable(identity(['*.nodes.test'])) })
    let accepted = 0
    const accept = (): void => void (accepted += 1)
    const strict = await others.listen(0, accept)
    const open = await nodes.listen(0, accept)

    // The same certificate at both ends, which one of them alone takes for a node's.
    const dialled = await nodes.connect({ host, port: strict.port }, signal)
    let isClosed = false
    dialled.attach({
      onBytes: () => undefined,
      onDrain: () => undefined,
      onClosed: () => (isClosed = true),
    })
    const error = await errorOf(() => others.connect({ host, port: open.port }, signal))
    await untilTrue(() => isClosed)

    expect(String(error)).to.include('--peer-names')
    expect(accepted).to.equal(0)
    await strict.close()
    await open.close()
  })
})
