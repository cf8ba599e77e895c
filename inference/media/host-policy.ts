// Decides what may be connected to, before anything is: the URL, then the addresses of its host.

import { isIP } from 'node:net'
import { ServiceError } from '../../lib/errors.ts'

export interface NetworkView {
  /** Finds all addresses of a host. Rejects when there are none. */
  resolve(host: string): Promise<readonly string[]>
  isPublic(address: string): boolean
}

export interface CheckedHost {
  readonly url: URL
  /** The only addresses that may be connected to, in the resolver's order. At least one. */
  readonly addresses: readonly string[]
}

/** As `http.request` wants it: without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Throws INVALID_ARGUMENT unless this is a URL that may be downloaded. */
export function parseMediaUrl(text: string, allowedHosts: readonly string[], base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url === null) throw refuse('it is neither a data URI nor a URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refuse(`${url.protocol} is not read; use http:, https: or a data URI`)
  }
  if (url.username !== '' || url.password !== '') throw refuse('it must not carry a password')
  const host = hostOf(url)
  if (allowedHosts.length > 0 && !allowedHosts.some((allowed) => isUnder(host, allowed))) {
    throw refuse(`host ${host} is not among the allowed hosts`)
  }
  return url
}

function isUnder(host: string, allowed: string): boolean {
  const name = allowed.toLowerCase()
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name
}

/**
 * Resolves once, and answers the addresses to connect to: a second resolution may have another
 * answer. If one of several addresses is not public the host is refused, because no public host
 * needs that.
 */
export async function checkHost(
  url: URL,
  network: NetworkView,
  { blockPrivateIps }: { readonly blockPrivateIps: boolean },
): Promise<CheckedHost> {
  const host = hostOf(url)
  const addresses = isIP(host) === 0 ? await resolveHost(host, network) : [host]
  if (blockPrivateIps && !addresses.every((address) => network.isPublic(address))) {
    throw refuse(`host ${host} does not have a public address`)
  }
  return { url, addresses }
}

async function resolveHost(host: string, network: NetworkView): Promise<readonly string[]> {
  try {
    const addresses = await network.resolve(host)
    if (addresses.length > 0) return addresses
  } catch (cause) {
    throw refuse(`host ${host} cannot be resolved`, cause)
  }
  throw refuse(`host ${host} cannot be resolved`)
}

function refuse(why: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `image_url: ${why}`, { cause })
}
