import { execFile } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect, createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { isDeepStrictEqual, promisify } from 'node:util'
import { expect } from 'chai'
import { assert, must } from '../../../../lib/assert.ts'
import {
  AUTHORITY_QUIET_MS,
  AUTHORITY_RENEWED_MS,
  AUTHORITY_VALID_MS,
  BACKDATED_MS,
  CERTIFICATE_RENEWED_MS,
  CERTIFICATE_VALID_MS,
  dueEtcdCertificates,
  renewEtcdCertificates,
} from '../../../../operator/certificates/etcd-certificates.ts'
import type {
  EtcdCertificates,
  EtcdNames,
} from '../../../../operator/certificates/etcd-certificates.ts'
import { systemKeys } from '../../../../operator/certificates/system-keys.ts'
import { countedKeys } from '../../../support/operator/counted-keys.ts'

const run = promisify(execFile)
const NOW_MS = Date.UTC(2026, 10, 27)
const NAMES: EtcdNames = {
  cluster: 'books',
  server: ['books-etcd-0.books-etcd.shop.svc', 'books-etcd.shop.svc', 'localhost', '127.0.0.1'],
  peer: ['books-etcd-0.books-etcd.shop.svc'],
  peerCommonName: 'etcd-peer',
}

const FIELDS = ['server', 'peer', 'client'] as const

function renew(current: EtcdCertificates | undefined, nowMs: number, names = NAMES) {
  return renewEtcdCertificates(current, { names, nowMs, keys: countedKeys() })
}

function certificateOf({ certificate }: { readonly certificate: string }): X509Certificate {
  return new X509Certificate(certificate)
}

describe('the certificates of an own etcd', () => {
  it('are valid from five minutes before now', () => {
    const { certificates } = renew(undefined, NOW_MS)

    for (const each of [...certificates.authorities, ...FIELDS.map((one) => certificates[one])]) {
      expect(certificateOf(each).validFromDate.getTime()).to.equal(NOW_MS - BACKDATED_MS)
    }
    const [authority] = certificates.authorities
    expect(certificateOf(must(authority, 'one')).validToDate.getTime()).to.equal(
      NOW_MS + AUTHORITY_VALID_MS,
    )
    expect(certificateOf(certificates.peer).validToDate.getTime()).to.equal(
      NOW_MS + CERTIFICATE_VALID_MS,
    )
  })

  it('have the names of members, and the client none, by which etcd would look for its address', () => {
    const { server, peer, client } = renew(undefined, NOW_MS).certificates

    expect(certificateOf(server).subjectAltName).to.equal(
      'DNS:books-etcd-0.books-etcd.shop.svc, DNS:books-etcd.shop.svc, DNS:localhost, IP Address:127.0.0.1',
    )
    expect(certificateOf(peer).subject).to.equal('CN=etcd-peer')
    expect(certificateOf(client).subjectAltName).to.equal(undefined)
  })

  it('are the same again for the same keys, but for the signatures', () => {
    const bodies = [1, 2].map(() => {
      const { peer } = renew(undefined, NOW_MS).certificates
      const {
        serialNumber,
        subject,
        issuer,
        validTo,
        fingerprint256: _,
        publicKey,
      } = certificateOf(peer)
      const key = publicKey.export({ type: 'spki', format: 'pem' })
      return { serialNumber, subject, issuer, validTo, key }
    })

    expect(bodies[0]).to.deep.equal(bodies[1])
  })

  it('stay as they are until they are due', () => {
    const first = renew(undefined, NOW_MS)
    const again = renew(first.certificates, first.nextAtMs - 1)

    expect(again.certificates).to.deep.equal(first.certificates)
    expect(first.nextAtMs).to.equal(NOW_MS + CERTIFICATE_VALID_MS - CERTIFICATE_RENEWED_MS)
    expect(again.nextAtMs).to.equal(first.nextAtMs)
  })

  it('are replaced in their last 30 days, under the same authority', () => {
    const first = renew(undefined, NOW_MS)
    const next = renew(first.certificates, first.nextAtMs)

    expect(next.certificates.authorities).to.deep.equal(first.certificates.authorities)
    for (const field of FIELDS) {
      expect(next.certificates[field].certificate).not.to.equal(
        first.certificates[field].certificate,
      )
    }
  })

  it('are replaced when they lack a name of the cluster', () => {
    const { certificates } = renew(undefined, NOW_MS)
    const more = { ...NAMES, peer: [...NAMES.peer, 'books-etcd-1.books-etcd.shop.svc'] }
    const next = renew(certificates, NOW_MS, more).certificates

    expect(next.server).to.deep.equal(certificates.server)
    expect(certificateOf(next.peer).checkHost('books-etcd-1.books-etcd.shop.svc')).not.to.equal(
      undefined,
    )
  })

  const damages: Record<string, (one: EtcdCertificates) => EtcdCertificates> = {
    'a key of another certificate': (one) => ({
      ...one,
      peer: { ...one.peer, key: one.server.key },
    }),
    'no certificate': (one) => ({ ...one, peer: { ...one.peer, certificate: 'of nobody' } }),
    'a certificate of another authority': (one) => ({
      ...one,
      peer: renewEtcdCertificates(undefined, {
        names: NAMES,
        nowMs: NOW_MS,
        keys: countedKeys(100),
      }).certificates.peer,
    }),
    'the certificate of the server': (one) => ({ ...one, peer: one.server }),
  }
  for (const [damage, damaged] of Object.entries(damages)) {
    it(`are replaced where there is ${damage}`, () => {
      const { certificates } = renew(undefined, NOW_MS)
      const next = renew(damaged(certificates), NOW_MS).certificates

      expect(certificateOf(next.peer).checkPrivateKey(createPrivateKey(next.peer.key))).to.equal(
        true,
      )
      expect(certificateOf(next.peer).subject).to.equal('CN=etcd-peer')
      expect(certificateOf(next.peer).verify(issuerOf(certificates).publicKey)).to.equal(true)
      expect(next.server).to.deep.equal(certificates.server)
    })
  }

  it('are all made anew with a lost authority', () => {
    const { certificates } = renew(undefined, NOW_MS)
    const next = renewEtcdCertificates(
      { ...certificates, authorities: [] },
      { names: NAMES, nowMs: NOW_MS, keys: countedKeys(100) },
    ).certificates

    for (const field of FIELDS) {
      expect(certificateOf(next[field]).verify(issuerOf(next).publicKey)).to.equal(true)
    }
  })

  it('have a second authority for two years, which signs nothing for its first seven days (XC2)', () => {
    const first = renew(undefined, NOW_MS).certificates
    const dueMs = NOW_MS + AUTHORITY_VALID_MS - AUTHORITY_RENEWED_MS
    const keys = countedKeys(100)
    const at = (current: EtcdCertificates, nowMs: number) =>
      renewEtcdCertificates(current, { names: NAMES, nowMs, keys }).certificates

    const both = at(first, dueMs)
    const quiet = at(
      { ...both, peer: { key: '', certificate: '' } },
      dueMs + AUTHORITY_QUIET_MS - 1,
    )
    const loud = at({ ...both, peer: { key: '', certificate: '' } }, dueMs + AUTHORITY_QUIET_MS)

    expect(both.authorities.length).to.equal(2)
    const [old, young] = both.authorities.map((one) => certificateOf(one))
    for (const field of FIELDS) {
      expect(certificateOf(both[field]).verify(must(old, 'one').publicKey)).to.equal(true)
    }
    expect(certificateOf(quiet.peer).verify(must(old, 'one').publicKey)).to.equal(true)
    expect(certificateOf(loud.peer).verify(must(young, 'one').publicKey)).to.equal(true)
    expect(at(both, NOW_MS + AUTHORITY_VALID_MS).authorities).to.deep.equal(
      both.authorities.slice(1),
    )
  })

  it('are due exactly when they would be replaced (dueEtcdCertificates)', () => {
    const first = renew(undefined, NOW_MS).certificates
    const nothing = { key: '', certificate: '' }
    const empty = { former: [], authorities: [], server: nothing, peer: nothing, client: nothing }
    const days = [0, 59, 60, 91, 2920, 3650]
    const sets = [empty, first, ...Object.values(damages).map((damaged) => damaged(first))]
    for (const set of [...sets, { ...first, former: ['of nobody'] }]) {
      for (const nowMs of days.map((day) => NOW_MS + day * 86_400_000)) {
        const due = dueEtcdCertificates(set, { names: NAMES, nowMs })
        const next = renew(set, nowMs)
        const isSame = isDeepStrictEqual(next.certificates, set)

        expect(due.authorities || due.others).to.equal(!isSame)
        expect(due.nextAtMs).to.equal(isSame ? next.nextAtMs : nowMs)
        expect(isDeepStrictEqual(next.certificates.authorities, set.authorities)).to.equal(
          !due.authorities,
        )
      }
    }
  })

  it('stay as they are when the key of their authority is lost, until they are due (XC4)', () => {
    const first = renew(undefined, NOW_MS)
    const former = first.certificates.authorities.map(({ certificate }) => certificate)
    const keys = countedKeys(100)
    const at = (current: EtcdCertificates, nowMs: number) =>
      renewEtcdCertificates(current, { names: NAMES, nowMs, keys }).certificates

    const lost = at({ ...first.certificates, authorities: [], former }, NOW_MS)
    const later = at(lost, first.nextAtMs)

    expect(lost.former).to.deep.equal(former)
    expect(lost.authorities).to.have.length(1)
    for (const field of FIELDS) {
      expect(lost[field]).to.deep.equal(first.certificates[field])
      expect(certificateOf(later[field]).verify(issuerOf(lost).publicKey)).to.equal(true)
    }
    expect(later.former).to.deep.equal([])
  })

  it('trust no former authority of which nothing is in use, or which is none (XC4)', () => {
    const { certificates } = renew(undefined, NOW_MS)
    const other = renewEtcdCertificates(undefined, {
      names: NAMES,
      nowMs: NOW_MS,
      keys: countedKeys(100),
    }).certificates
    const former = [issuerPem(other), certificates.server.certificate, 'of nobody']

    expect(renew({ ...certificates, former }, NOW_MS).certificates).to.deep.equal(certificates)
  })

  it('name the moment of the next change, and never one that has passed', () => {
    let { certificates, nextAtMs } = renew(undefined, NOW_MS)
    let changes = 0
    for (let atMs = NOW_MS; atMs < NOW_MS + 9 * 365 * 86_400_000; changes++) {
      expect(nextAtMs).to.be.greaterThan(atMs)
      atMs = nextAtMs
      const keys = countedKeys(changes * 10 + 10)
      const next = renewEtcdCertificates(certificates, { names: NAMES, nowMs: atMs, keys })
      expect(next.certificates).not.to.deep.equal(certificates)
      ;({ certificates, nextAtMs } = next)
    }

    expect(changes).to.be.greaterThan(50)
  })
})

describe('the certificates of an own etcd, read by others', () => {
  let directory = ''
  const { certificates } = renewEtcdCertificates(undefined, {
    names: NAMES,
    nowMs: Date.now(),
    keys: systemKeys,
  })
  const file = (name: string): string => path.join(directory, name)

  const verify = (purpose: string, field: string): Promise<unknown> => {
    const args = ['-purpose', purpose, '-CAfile', file('ca.crt'), file(field)]
    return run('openssl', ['verify', '-x509_strict', ...args])
  }

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-certificates-'))
    await writeFile(file('ca.crt'), must(certificates.authorities[0], 'one').certificate)
    for (const field of FIELDS) await writeFile(file(field), certificates[field].certificate)
  })
  after(() => rm(directory, { recursive: true, force: true }))

  it('are accepted by OpenSSL in its strict mode, for their purposes alone', async () => {
    await verify('sslserver', 'server')
    await verify('sslclient', 'server')
    await verify('sslserver', 'peer')
    await verify('sslclient', 'client')
    const refused = await verify('sslserver', 'client').then(
      () => false,
      () => true,
    )
    expect(refused).to.equal(true)
  })

  it('carry a TLS connection in which both sides prove themselves', async () => {
    const ca = must(certificates.authorities[0], 'one').certificate
    const { server, client } = certificates
    const listening = createServer({
      key: server.key,
      cert: server.certificate,
      ca,
      requestCert: true,
      rejectUnauthorized: true,
    })
    const peers: string[] = []
    listening.on('secureConnection', (socket: TLSSocket) => {
      peers.push(socket.getPeerX509Certificate()?.subject ?? '')
      socket.end()
    })
    listening.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const address = listening.address()
    assert(address !== null && typeof address === 'object', 'it listens on a port')
    const { port } = address
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'books-etcd-0.books-etcd.shop.svc',
      ca,
      key: client.key,
      cert: client.certificate,
    })
    await once(socket, 'secureConnect')

    expect(socket.authorized).to.equal(true)
    socket.resume()
    await once(socket, 'close')
    expect(peers).to.deep.equal(['CN=quarry'])
    listening.close()
  })
})

function issuerOf({ authorities }: EtcdCertificates): X509Certificate {
  return certificateOf(must(authorities[0], 'an authority'))
}

function issuerPem({ authorities }: EtcdCertificates): string {
  return must(authorities[0], 'an authority').certificate
}
