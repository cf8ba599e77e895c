// Decides before any connection whether it is allowed: first by the URL, then by the host's addresses.

import { isIP } from 'node:net'
import { ServiceError } from '../errors.ts'
import { PassingFailure } from './passing-failure.ts'

/** The name resolver and the rule for public addresses. Tests replace both. */
export interface NetworkView {
  /** Finds all addresses of a host. Rejects when the host has none. */
  resolve(host: string): Promise<readonly string[]>
  /** Whether an IP address belongs to the public Internet. */
  isPublic(address: string): boolean
}

/** A URL whose host passed the checks. */
export interface CheckedHost {
  readonly url: URL
  /** The only addresses that a connection may use, in the resolver's order. At least one. */
  readonly addresses: readonly string[]
}

/** The host as `http.request` expects it: an IPv6 address has no brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/**
 * Parses a URL that may be downloaded, relative to `base` after a redirect. An empty list of
 * allowed hosts allows every host. Throws INVALID_ARGUMENT for all other URLs.
 */
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
 * Resolves the host once and answers the addresses to connect to, because a second resolution may
 * give other addresses. It refuses a host as soon as one of its addresses is private: a public host
 * has no reason for one.
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
    const why = `host ${host} cannot be resolved`
    throw isWithoutAddress(cause) ? refuse(why, cause) : new PassingFailure(why, cause)
  }
  throw refuse(`host ${host} cannot be resolved`)
}

/** Whether the resolver knows that the name has no address; else it could not tell. */
function isWithoutAddress(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

function refuse(why: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', why, { cause })
}
