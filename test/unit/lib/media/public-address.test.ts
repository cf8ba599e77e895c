import { expect } from 'chai'
import { isPublicAddress } from '../../../../lib/media/public-address.ts'

describe('public addresses', () => {
  const refused = [
    ['this host', '0.0.0.0', '0.1.2.3', '::'],
    ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
    ['link-local, with the metadata service of clouds', '169.254.169.254', 'fe80::1', 'fe80::1%e0'],
    ['carrier-grade NAT', '100.64.0.1', '100.127.255.255'],
    ['unique-local', 'fc00::1', 'fd12:3456::1'],
    ['site-local', 'fec0::1'],
    ['multicast and broadcast', '224.0.0.1', '239.1.1.1', '255.255.255.255', 'ff02::1'],
    ['IPv4-mapped', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:7f00:1'],
    ['IPv4-compatible, also as URLs are parsed', '::127.0.0.1', '::7f00:1', '::ffff:0:127.0.0.1'],
    ['what nobody has been given', '100:0:0:1::1', '4000::1', '5f00::1', '8000::1', '1::1'],
    ['NAT64', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
    ['6to4 and Teredo', '2002:7f00:1::', '2001::1'],
    ['documentation and benchmarks', '192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1'],
    ['documentation of IPv6', '2001:db8::1', '3fff::1'],
    ['reserved', '240.0.0.1', '192.0.0.1', '100::1'],
    ['texts that are no address', '', 'localhost', '1.2.3.4.5'],
  ] as const
  for (const [what, ...addresses] of refused) {
    it(`are not ${what}`, () => {
      expect(addresses.filter(isPublicAddress)).to.deep.equal([])
    })
  }

  it('are all others', () => {
    const others = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1', '2a00:1450::1']

    expect(others.filter(isPublicAddress)).to.deep.equal(others)
  })
})
