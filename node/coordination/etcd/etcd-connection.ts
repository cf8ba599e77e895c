import { credentials } from '@grpc/grpc-js'
import type { ChannelCredentials } from '@grpc/grpc-js'
import { ServiceError } from '../../../lib/errors.ts'
import { EtcdMember } from './etcd-member.ts'
import type { EtcdTiming, EtcdUser } from './etcd-members.ts'

const PORT = '2379'

/** PEM files by their content. */
export interface EtcdTls {
  /** Who signs etcd's certificates, if that is not an authority that Node trusts anyway. */
  readonly ca?: Buffer
  /** The certificate of this node, where etcd asks for one: both or neither. */
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** How etcd is reached: plain data, so that another thread can have it. */
export interface EtcdConnection {
  readonly endpoints: readonly string[]
  readonly tls: EtcdTls | undefined
  readonly user: EtcdUser | undefined
  readonly timing: EtcdTiming
}

/** The members of etcd. Throws INVALID_ARGUMENT for wrong endpoints and files. */
export function connectionMembers(connection: EtcdConnection): readonly EtcdMember[] {
  return placesOf(connection).map(({ address, credentials: own }) => new EtcdMember(address, own))
}

/** By what each member is reached, in the order of `connectionMembers`. Throws INVALID_ARGUMENT as that does. */
export function connectionCredentials(connection: EtcdConnection): readonly ChannelCredentials[] {
  return placesOf(connection).map((place) => place.credentials)
}

interface MemberPlace {
  readonly address: string
  readonly credentials: ChannelCredentials
}

function placesOf({ endpoints, tls = {} }: EtcdConnection): readonly MemberPlace[] {
  if (endpoints.length === 0) throw invalid('etcd has at least one endpoint')
  const { cert, key } = tls
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid('a certificate for etcd comes with its key, and a key with its certificate')
  }
  return endpoints.map((endpoint) => {
    const { hostname, port, protocol } = parseEndpoint(endpoint)
    const address = `${hostname}:${port === '' ? PORT : port}`
    return { address, credentials: credentialsOf(protocol, tls) }
  })
}

function parseEndpoint(endpoint: string): URL {
  const url = URL.parse(endpoint)
  const isPlain = url?.pathname === '/' && url.search === '' && url.username === ''
  if (url !== null && isPlain && /^https?:$/.test(url.protocol)) return url
  throw invalid(`an endpoint of etcd is http://host:port or https://host:port, not "${endpoint}"`)
}

function credentialsOf(protocol: string, { ca, cert, key }: EtcdTls): ChannelCredentials {
  if (protocol === 'http:') return credentials.createInsecure()
  try {
    // Another thread gets plain bytes.
    return credentials.createSsl(bufferOf(ca), bufferOf(key), bufferOf(cert))
  } catch (cause) {
    throw new ServiceError('INVALID_ARGUMENT', 'the TLS files for etcd are not PEM', { cause })
  }
}

function bufferOf(bytes: Uint8Array | undefined): Buffer | null {
  return bytes === undefined ? null : Buffer.from(bytes)
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
