import { expect } from 'chai'
import {
  checkLiteralAddress,
  checkedLookup,
  isAllowed,
  permitOf,
} from '../../../../../node/providers/access/url-rules.ts'

const proxyHosts: ReadonlySet<string> = new Set()
const isPublic = (address: string): boolean => address === '93.184.216.34'

describe('the rules of addresses', () => {
  it('allow addresses of the public Internet, and all where the operator named the host', () => {
    for (const address of ['93.184.216.34', '127.0.0.1', '10.1.2.3', '::1', 'fe80::1']) {
      expect(isAllowed(address, 'any', isPublic), address).to.equal(true)
      expect(isAllowed(address, 'public', isPublic), address).to.equal(isPublic(address))
    }
  })

  it('hold for hosts that are addresses, in every form that URLs bring to it', () => {
    const refused = [
      'http://169.254.169.254/',
      'http://127.1/',
      'http://2852039166/', // the same as one number
      'http://0xa9.0xfe.0xa9.0xfe/',
      'http://[::ffff:169.254.169.254]/',
      'http://[fe80::1]/',
      'http://[fd00:ec2::254]/',
    ]

    for (const text of refused) {
      expect(() => checkLiteralAddress(new URL(text), 'public', isPublic), text).to.throw(
        'not allowed',
      )
    }
    checkLiteralAddress(new URL('http://127.1/'), 'any', isPublic)
  })

  it('hold for the address that a connection gets, whatever the name', async () => {
    const { promise, resolve } = Promise.withResolvers<Error | null>()

    checkedLookup({ rule: 'public', isPublic, proxyHosts })('localhost', {}, (error) =>
      resolve(error),
    )

    expect(await promise).to.have.property('code', 'ADDRESS_REFUSED')
  })

  it('let a name pass whose addresses are all allowed, as one or as a list', async () => {
    const one = Promise.withResolvers<unknown>()
    const all = Promise.withResolvers<unknown>()
    const lookup = checkedLookup({ rule: 'any', isPublic, proxyHosts })

    lookup('localhost', { family: 4 }, (error, address) => one.resolve(error ?? address))
    lookup('localhost', { family: 4, all: true }, (error, list) => all.resolve(error ?? list))

    expect(await one.promise).to.equal('127.0.0.1')
    expect(await all.promise).to.deep.include({ address: '127.0.0.1', family: 4 })
  })

  it('count another port as another host', () => {
    const rules = {
      trustedHosts: ['models.example:8443', 'Other.example:443'],
    }
    const permit = (url: string): boolean =>
      permitOf(
        { url: new URL(url), origin: 'configuration', place: 'hosted', own: undefined },
        rules,
      )?.maySendSecrets === true

    expect(permit('https://models.example:8443/')).to.equal(true)
    expect(permit('https://models.example/')).to.equal(false)
    expect(permit('https://sub.models.example:8443/')).to.equal(false)
    expect(permit('https://other.example/')).to.equal(true)
    expect(permit('http://other.example/')).to.equal(false)
  })
})
