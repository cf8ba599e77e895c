import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { assert, must } from '../../../lib/assert.ts'
import type { Current } from '../../../lib/replaceable.ts'
import { hasPeerName } from './peer-names.ts'
import { Strangers } from './strangers.ts'
import type { Stranger } from './strangers.ts'
import type { ByteChannel, ChannelEvents, ChannelListener, PeerTransport } from '../transport.ts'

const EXPORTER_LABEL = 'EXPORTER-quarry-peer'
const EXPORTER_BYTES = 32
/** Connections that the system completes before we accept them. */
const BACKLOG = 511

/** Sockets whose handshake of TLS has not ended. */
const UNSECURED_MAX = 512
/** The time for the handshake of TLS, before ours begins. */
const TLS_HANDSHAKE_MS = 5000

/** Certificates as PEM. Each node has one that `ca` signed, for the host by which others dial it. */
export interface TlsIdentity {
  readonly ca: string
  readonly certificate: string
  readonly key: string
  /** Patterns of the names that certificates of nodes have (peer-names.ts). */
  readonly names: readonly string[]
}

/**
 * Where to listen. With `tls`, both ends of a connection show a certificate of the same authority with a name of a node.
 * One that is replaced is for new connections; the others stay.
 */
export interface TcpOptions {
  readonly host: string
  readonly tls?: Current<TlsIdentity>
}

/** Channels over TCP, or over mutual TLS 1.3. */
export class TcpTransport implements PeerTransport {
  readonly #host: string
  readonly #identity: Current<TlsIdentity> | undefined

  constructor({ host, tls: identity }: TcpOptions) {
    this.#host = host
    this.#identity = identity
  }

  async listen(port: number, accept: (channel: ByteChannel) => void): Promise<ChannelListener> {
    const server = this.#buildServer((socket) => accept(new SocketChannel(socket)))
    server.listen({ port, host: this.#host, backlog: BACKLOG })
    await once(server, 'listening')
    const address = server.address()
    assert(address !== null && typeof address === 'object', 'the server listens on TCP')
    return {
      port: address.port,
      close: async () => {
        server.close()
      },
    }
  }

  async connect(
    { host, port }: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<ByteChannel> {
    signal.throwIfAborted()
    const secured = this.#identity && contextOf(this.#identity.value)
    const socket =
      secured === undefined
        ? net.connect({ host, port, noDelay: true })
        : tls.connect({
            host,
            port,
            ...secured,
            rejectUnauthorized: true,
            checkServerIdentity: (name, certificate) =>
              tls.checkServerIdentity(name, certificate) ?? this.#objectionTo(certificate),
          })
    const onAbort = (): void => void socket.destroy()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await once(socket, secured === undefined ? 'connect' : 'secureConnect', { signal })
    } catch (error) {
      socket.on('error', () => undefined)
      socket.destroy()
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
    return new SocketChannel(socket)
  }

  #buildServer(onSocket: (socket: net.Socket) => void): net.Server {
    const identity = this.#identity
    if (identity === undefined) return net.createServer({ noDelay: true }, onSocket)
    const options = { ...contextOf(identity.value), requestCert: true, rejectUnauthorized: true }
    const server = tls.createServer(
      { ...options, handshakeTimeout: TLS_HANDSHAKE_MS },
      (socket) => {
        if (this.#objectionTo(socket.getPeerCertificate()) === undefined) onSocket(socket)
        else socket.destroy()
      },
    )
    server.on('tlsClientError', (_error, socket) => socket.destroy())
    boundUnsecured(server)
    const forget = identity.onReplaced((renewed) => server.setSecureContext(contextOf(renewed)))
    server.once('close', forget)
    return server
  }

  /** Why a certificate that the authority signed does not belong to a node. */
  #objectionTo(certificate: tls.PeerCertificate): Error | undefined {
    if (hasPeerName(certificate, this.#identity?.value.names ?? [])) return undefined
    return new Error('the certificate of the other end has no name of a node (--peer-names)')
  }
}

function contextOf({ ca, certificate: cert, key }: TlsIdentity): tls.SecureContextOptions {
  return { ca, cert, key, minVersion: 'TLSv1.3' }
}

/** Sockets whose TLS handshake has not ended are strangers too. */
function boundUnsecured(server: tls.Server): void {
  const strangers = new Strangers(UNSECURED_MAX)
  const unsecured = new Map<string, Stranger>()
  const forget = (socket: net.Socket): void => {
    const stranger = unsecured.get(nameOf(socket))
    if (stranger === undefined) return
    unsecured.delete(nameOf(socket))
    strangers.delete(stranger)
  }
  server.on('connection', (socket) => {
    const { remoteAddress: address = '' } = socket
    const stranger = { address, evict: () => void socket.destroy() }
    strangers.add(stranger)
    const name = nameOf(socket)
    unsecured.set(name, stranger)
    socket.once('close', () => {
      strangers.delete(stranger)
      unsecured.delete(name)
    })
  })
  server.on('secureConnection', forget)
}

function nameOf({ remoteAddress, remotePort }: net.Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** A connected socket. */
class SocketChannel implements ByteChannel {
  readonly remote: string
  readonly exporter: Buffer | undefined
  readonly #socket: net.Socket
  #reason = 'the other end closed the connection'

  constructor(socket: net.Socket) {
    this.#socket = socket
    this.remote = `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`
    if (socket instanceof tls.TLSSocket) {
      socket.setNoDelay(true)
      this.exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0))
    }
    socket.on('error', (error) => (this.#reason = error.message))
  }

  attach(events: ChannelEvents): void {
    const socket = this.#socket
    socket.on('data', (bytes) => events.onBytes(must(asBytes(bytes), 'bytes of a socket')))
    socket.on('drain', () => events.onDrain())
    // Nothing of ours reads after the other end has ended, so neither end waits for the other.
    socket.on('end', () => socket.destroy())
    socket.on('close', () => events.onClosed(this.#reason))
    if (socket.destroyed) queueMicrotask(() => events.onClosed(this.#reason))
  }

  write(bytes: Uint8Array): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return false
    return this.#socket.write(bytes)
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

function asBytes(data: Buffer | string): Buffer | undefined {
  return typeof data === 'string' ? undefined : data
}
