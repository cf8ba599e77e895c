import ipaddr from 'ipaddr.js'

/**
 * Whether an address belongs to the public Internet. Everything that the registries of IANA set
 * apart is refused: private, loopback, link-local, unique-local, shared (carrier-grade NAT),
 * multicast, documentation, and the forms of IPv6 that carry an IPv4 address (mapped, NAT64, 6to4,
 * Teredo), since the address inside may be any of the others.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  return ipaddr.parse(text).range() === 'unicast'
}
