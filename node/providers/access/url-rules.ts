// Where requests may go. Who may create an index may write a URL into it, so a URL must neither reach what
// only this node reaches, nor carry the node's secrets to a stranger.
//
// Invariants:
//   UR1  A connection goes only to an address that the rule allows. The rule is applied to the address that
//        is connected to, so another answer of the resolver changes nothing.
//   UR2  A text that was resolved from a reference or from a variable leaves only for a host that the operator
//        named, or that is the provider's own.
//   UR3  Addresses that are not of the public Internet need a host that the operator named. A URL that no
//        configuration gives, the node's own inference server among them, is the operator's.
//   UR4  What an answer says is repeated only if its host is the provider's own, or the operator named it.

import { lookup as lookupAddresses } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'

/** The addresses that a connection may have. */
export type AddressRule = 'any' | 'public'

/** What the operator allows. */
export interface UrlRules {
  /**
   * Hosts that any provider may have, at any address, and that may be sent secrets: `host` or `host:port`, as in
   * a URL.
   */
  readonly trustedHosts: readonly string[]
}

export const URL_RULES_DEFAULT: UrlRules = { trustedHosts: [] }

/** Where a URL was found. */
export type UrlOrigin = 'default' | 'operator' | 'configuration' | 'query'

/** One URL and what is known of it. */
export interface UrlQuestion {
  readonly url: URL
  readonly origin: UrlOrigin
  readonly place: 'local' | 'hosted'
  /** The provider's own URL, if it has one. */
  readonly own: string | undefined
}

/** What may be done with a URL. */
export interface UrlPermit {
  readonly addresses: AddressRule
  readonly maySendSecrets: boolean
  readonly mayBePlain: boolean
  /** Whether errors may say what the host answered (UR4). */
  readonly mayBeQuoted: boolean
}

const ALL: UrlPermit = {
  addresses: 'any',
  maySendSecrets: true,
  mayBePlain: true,
  mayBeQuoted: true,
}

/**
 * Decides about a URL by its text alone. Undefined: nothing may be sent there. Who may only ask queries chooses
 * no host: a query names the provider's own URL, or a host that the operator named.
 */
export function permitOf(question: UrlQuestion, rules: UrlRules): UrlPermit | undefined {
  const { url, origin, place, own } = question
  if (origin === 'operator' || isTrusted(url, rules)) return ALL
  const isHosted = place === 'hosted'
  const ownUrl = own === undefined ? undefined : new URL(own)
  const isOwn =
    origin === 'default' ||
    (ownUrl !== undefined && (isHosted ? ownUrl.host === url.host : isSamePlace(ownUrl, url)))
  if (origin === 'query' && !isOwn) return undefined
  return {
    addresses: isOwn && !isHosted ? 'any' : 'public',
    maySendSecrets: isOwn && isHosted,
    mayBePlain: !isHosted,
    mayBeQuoted: isOwn,
  }
}

/** Below another path of the same server may be another service. */
function isSamePlace(own: URL, url: URL): boolean {
  return own.origin === url.origin && trimmed(own.pathname) === trimmed(url.pathname)
}

function trimmed(pathname: string): string {
  return pathname.replace(/\/+$/, '')
}

function isTrusted(url: URL, { trustedHosts }: UrlRules): boolean {
  return trustedHosts.some((trusted) => isHostOf(url, trusted))
}

/** `host` means every port of it, `host:port` this one, also where it is the scheme's own. */
export function isHostOf({ hostname, port, protocol }: URL, host: string): boolean {
  const place = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
  const name = host.toLowerCase()
  return name === place || name === hostname
}

/** Whether an address is of the public Internet. */
export type IsPublic = (address: string) => boolean

export function isAllowed(address: string, rule: AddressRule, isPublic: IsPublic): boolean {
  return rule === 'any' || isPublic(address)
}

export const ADDRESS_REFUSED = 'ADDRESS_REFUSED'

/** A host whose address is not allowed. The message has no address, which only this node may know. */
class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
  readonly code = ADDRESS_REFUSED
}

/** How addresses of names are checked. */
export interface LookupRule {
  readonly rule: AddressRule
  readonly isPublic: IsPublic
  /** Hosts that the operator has put between the node and all others. */
  readonly proxyHosts: ReadonlySet<string>
}

/** Resolves names for connections, and refuses those of which one address is not allowed (UR1). */
export function checkedLookup({ rule, isPublic, proxyHosts }: LookupRule): LookupFunction {
  return (host, options, callback) => {
    const isExempt = proxyHosts.has(host)
    lookupAddresses(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0)
      if (!isExempt && !found.every(({ address }) => isAllowed(address, rule, isPublic))) {
        return callback(
          new AddressRefusedError(`host ${host} has an address that is not allowed`),
          '',
          0,
        )
      }
      const [first] = found
      if (options.all === true) callback(null, found)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}

/** Refuses hosts that are addresses: Node resolves nothing for them. */
export function checkLiteralAddress(url: URL, rule: AddressRule, isPublic: IsPublic): void {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) === 0 || isAllowed(host, rule, isPublic)) return
  throw new AddressRefusedError(`host ${host} has an address that is not allowed`)
}
