import ipaddr from 'ipaddr.js'

/**
 * Whether an address belongs to the public Internet. The special ranges of IANA's registries do not:
 * private, loopback, link-local, unique-local, shared (carrier-grade NAT), multicast, documentation.
 *
 * Only 2000::/3 of IPv6 is assigned, so all other ranges are refused. They include the forms that
 * carry an IPv4 address (mapped, compatible, NAT64), which could be a private one. 6to4 and Teredo lie
 * within 2000::/3, carry an IPv4 address as well, and are refused too. So is
 * 168.63.129.16: it looks public, but Azure serves metadata of the machine there.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast' || address.toString() === AZURE_PLATFORM) return false
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST)
}

const AZURE_PLATFORM = '168.63.129.16'
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
