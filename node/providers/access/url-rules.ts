// Where requests may go. Who may create an index may write a URL into it, so a URL must neither reach what
// only this node reaches, nor carry the node's secrets to a stranger.
//
// Invariants:
//   UR1  A connection goes only to an address that the rule allows. The rule is applied to the address that
//        is connected to, so another answer of the resolver changes nothing.
//   UR2  A text that was resolved from a reference or from a variable leaves only for a host that the operator
//        named, or that is the provider's own.
//   UR3  Link-local addresses, and all others where clouds keep the identity of machines, need a host that the
//        operator named.

import { lookup as lookupAddresses } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'

/** The addresses that a connection may have. */
export type AddressRule = 'any' | 'not-link-local' | 'public'

/** What the operator allows. */
export interface UrlRules {
  /**
   * Hosts that any provider may have, at any address, and that may be sent secrets: `host` or `host:port`, as in
   * a URL.
   */
  readonly trustedHosts: readonly string[]
  /** False: local providers need public addresses or a trusted host, as hosted ones do. */
  readonly allowsPrivateLocal: boolean
}

export const URL_RULES_DEFAULT: UrlRules = { trustedHosts: [], allowsPrivateLocal: true }

/** Where a URL was found. */
export type UrlOrigin = 'default' | 'operator' | 'configuration'

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
}

/** Decides about a URL by its text alone. */
export function permitOf(question: UrlQuestion, rules: UrlRules): UrlPermit {
  const { url, origin, place, own } = question
  if (origin === 'operator' || isTrusted(url, rules)) {
    return { addresses: 'any', maySendSecrets: true, mayBePlain: true }
  }
  const isOwn = origin === 'default' || (own !== undefined && new URL(own).host === url.host)
  if (place === 'hosted') return { addresses: 'public', maySendSecrets: isOwn, mayBePlain: false }
  const addresses = origin === 'default' || rules.allowsPrivateLocal ? 'not-link-local' : 'public'
  return { addresses, maySendSecrets: false, mayBePlain: true }
}

/** `host` means every port of it, `host:port` this one, also where it is the scheme's own. */
function isTrusted({ hostname, port, protocol }: URL, { trustedHosts }: UrlRules): boolean {
  const place = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
  return trustedHosts.some((trusted) => {
    const name = trusted.toLowerCase()
    return name === place || name === hostname
  })
}

/** Whether an address is of the public Internet. */
export type IsPublic = (address: string) => boolean

/** Link-local addresses, also inside IPv6, and where clouds answer about a machine besides: address and prefix. */
const OF_THE_MACHINE: readonly (readonly [address: string, prefix: number])[] = [
  ['169.254.0.0', 16],
  ['fe80::', 10],
  ['::a9fe:0', 112],
  ['64:ff9b::a9fe:0', 112],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
]
const ofTheMachine = buildBlockList(OF_THE_MACHINE)

export function isAllowed(address: string, rule: AddressRule, isPublic: IsPublic): boolean {
  if (rule === 'any') return true
  if (rule === 'public') return isPublic(address)
  return !ofTheMachine.check(address, familyOf(address))
}

function buildBlockList(subnets: typeof OF_THE_MACHINE): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, familyOf(address))
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}

/** A host whose address is not allowed. The message has no address, which only this node may know. */
class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
  readonly code = 'ADDRESS_REFUSED'
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
