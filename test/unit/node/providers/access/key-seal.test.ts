import { expect } from 'chai'
import { Replaceable } from '../../../../../lib/replaceable.ts'
import { KeySeal, newSealSecret } from '../../../../../node/providers/access/key-seal.ts'
import { parseReferences, sealedText } from '../../../../../node/providers/config/references.ts'

const SECRET = Buffer.alloc(32, 7)

describe('the seal of keys', () => {
  const seal = new KeySeal(new Replaceable([SECRET]))

  it('gives back what it sealed, also after a restart, and shows nothing of it', () => {
    for (const key of ['k', 'sk-very-secret', 'x'.repeat(2_048)]) {
      const sealed = seal.seal(key)

      expect(new KeySeal(new Replaceable([SECRET])).open(sealed)).to.equal(key)
      expect(sealed).to.not.include(Buffer.from(key.repeat(3)).toString('base64url').slice(0, 8))
      expect(parseReferences(sealedText(sealed), 'k')).to.deep.equal([{ kind: 'sealed', sealed }])
      expect(sealedText(sealed).length).to.be.at.most(4_096)
    }
  })

  it('makes the same of the same key, and something else of another', () => {
    expect(seal.seal('one')).to.equal(seal.seal('one'))
    expect(seal.seal('one').slice(0, 16)).to.not.equal(seal.seal('two').slice(0, 16))
  })

  it('opens nothing that another secret sealed, or that was changed', () => {
    const other = new KeySeal(new Replaceable([Buffer.from(newSealSecret(), 'base64url')]))
    const sealed = seal.seal('sk-very-secret')

    expect(other.open(sealed)).to.equal(undefined)
    const bytes = Buffer.from(sealed, 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(seal.open(changed.toString('base64url')), String(at)).to.equal(undefined)
    }
    expect(seal.open('')).to.equal(undefined)
  })

  it('opens what an accepted secret sealed, and seals by the new one', () => {
    const next = Buffer.from(newSealSecret(), 'base64url')
    const secrets = new Replaceable<readonly Uint8Array[]>([SECRET])
    const changing = new KeySeal(secrets)
    const before = changing.seal('sk-very-secret')

    secrets.replace([next, SECRET])

    expect(changing.open(before)).to.equal('sk-very-secret')
    expect(seal.open(changing.seal('sk-very-secret'))).to.equal(undefined)
    secrets.replace([next])
    expect(changing.open(before)).to.equal(undefined)
  })

  it('says under which secret a key is sealed, and seals it anew under the first', () => {
    const next = Buffer.from(newSealSecret(), 'base64url')
    const secrets = new Replaceable<readonly Uint8Array[]>([SECRET])
    const changing = new KeySeal(secrets)
    const before = changing.seal('sk-very-secret')
    const unknown = new KeySeal(new Replaceable([Buffer.alloc(32, 9)])).seal('sk-of-another')
    secrets.replace([next, SECRET])

    const renewed = changing.renew(before)

    expect(changing.sealedUnder(before)).to.equal('accepted')
    expect(renewed).to.equal(changing.seal('sk-very-secret'))
    expect(changing.renew(renewed ?? '')).to.equal(renewed)
    expect([unknown, '', 'abc'].map((sealed) => changing.sealedUnder(sealed))).to.deep.equal([
      'none',
      'none',
      'none',
    ])
    expect(changing.renew(unknown)).to.equal(undefined)
    secrets.replace([next])
    expect(changing.open(renewed ?? '')).to.equal('sk-very-secret')
    expect(changing.sealedUnder(before)).to.equal('none')
  })

  it('refuses a key that no configuration can hold', () => {
    expect(() => seal.seal('x'.repeat(2_049))).to.throw('at most 2048 bytes')
  })
})
