import ipaddr from 'ipaddr.js'

/**
 * Whether an address belongs to the public Internet. What the registries of IANA set apart is refused:
 * private, loopback, link-local, unique-local, shared (carrier-grade NAT), multicast, documentation.
 *
 * Of IPv6 only 2000::/3 has been given out to anybody, so all else is refused, known or not: the forms
 * that carry an IPv4 address there (mapped, compatible, NAT64) would lead to any of the others. Within
 * it 6to4 and Teredo carry one as well, and are refused.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST)
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
