// How the members of an etcd are reached: their addresses, and the files by which both sides prove themselves.

import { credentials } from '@grpc/grpc-js'
import type { ChannelCredentials } from '@grpc/grpc-js'
import { ServiceError } from '../errors.ts'
import { EtcdMember } from './etcd-member.ts'

const PORT = '2379'

/** PEM files by their content. */
export interface EtcdTls {
  /** Who signs etcd's certificates, if that is not an authority that Node trusts anyway. */
  readonly ca?: Buffer
  /** The certificate of this client, where etcd asks for one: both or neither. */
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** Where the members are: plain data, so that another thread can have it. */
export interface EtcdEndpoints {
  /** `http://host:port` or `https://host:port`, one for each member. */
  readonly endpoints: readonly string[]
  readonly tls: EtcdTls | undefined
}

/** The members of etcd. Throws INVALID_ARGUMENT for wrong endpoints and files. */
export function membersAt(endpoints: EtcdEndpoints): readonly EtcdMember[] {
  return placesOf(endpoints).map(({ address, credentials: own }) => new EtcdMember(address, own))
}

/** By what each member is reached, in the order of `membersAt`. Throws INVALID_ARGUMENT as that does. */
export function credentialsAt(endpoints: EtcdEndpoints): readonly ChannelCredentials[] {
  return placesOf(endpoints).map((place) => place.credentials)
}

interface MemberPlace {
  readonly address: string
  readonly credentials: ChannelCredentials
}

function placesOf({ endpoints, tls = {} }: EtcdEndpoints): readonly MemberPlace[] {
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
