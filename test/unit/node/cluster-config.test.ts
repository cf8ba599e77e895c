import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { Flags } from '../../../lib/options.ts'
import { advertisedAddresses, parseClusterNodeConfig } from '../../../node/cluster-config.ts'
import { NEXT_CERTIFICATE_KEY, TEST_CERTIFICATE } from '../../support/servers/tls-certificate.ts'
import { readClusterFiles } from '../../../node/cluster-files.ts'
import { errorOf } from '../../support/error-of.ts'

const LEAST: Flags = {
  cluster: 'library',
  etcd: 'http://10.0.0.1:2379, http://10.0.0.2:2379',
  clusterSecretFile: '/run/secret',
}

const CERTIFICATES: Flags = {
  peerTlsCa: 'ca',
  peerTlsCert: 'cert',
  peerTlsKey: 'key',
  peerNames: '*.nodes.example',
}

const REFUSED: Readonly<Record<string, readonly [flags: Flags, message: RegExp]>> = {
  'no cluster and no etcd': [
    {},
    /--cluster \(environment: QUARRY_CLUSTER\) must be given: a name .*\n- --etcd \(.*\) must be given/,
  ],
  'a cluster of another alphabet': [
    { ...LEAST, cluster: 'a/b' },
    /--cluster: "a\/b" is not a name/,
  ],
  'etcd without a scheme': [
    { ...LEAST, etcd: '10.0.0.1:2379' },
    /--etcd: .* is not a list of URLs/,
  ],
  'an empty list of members': [{ ...LEAST, etcd: ' , ' }, /--etcd: /],
  'a zone with a space': [{ ...LEAST, zone: 'a b' }, /--zone: "a b" is not/],
  'a path behind the URL': [{ ...LEAST, advertiseUrl: 'http://a/b' }, /--advertise-url: /],
  'nothing that proves a node': [
    { ...LEAST, clusterSecretFile: undefined },
    /give --cluster-secret-file, also beside certificates/,
  ],
  'certificates without a secret': [
    { ...LEAST, ...CERTIFICATES, clusterSecretFile: undefined },
    /give --cluster-secret-file, also beside certificates/,
  ],
  'certificates without names': [
    { ...LEAST, ...CERTIFICATES, peerNames: undefined },
    /--peer-tls-ca and --peer-names belong together/,
  ],
  'names that say nothing': [
    { ...LEAST, ...CERTIFICATES, peerNames: '*' },
    /--peer-names: "\*" is/,
  ],
  'a certificate without its key': [
    { ...LEAST, ...CERTIFICATES, peerTlsKey: undefined },
    /--peer-tls-key missing/,
  ],
  'a user without a password': [{ ...LEAST, etcdUser: 'q' }, /belong together/],
  'certificates for plain http': [{ ...LEAST, etcdCa: 'ca' }, /give https: addresses/],
  'all addresses, and none to find': [
    { ...LEAST, peerHost: '0.0.0.0' },
    /--advertise-url is needed/,
  ],
}

describe('the options of a node of a cluster', () => {
  it('have defaults but for the cluster, etcd and a proof', () => {
    const config = parseClusterNodeConfig({ QUARRY_API_PORT: '9090' }, LEAST)

    expect(config).to.deep.include({
      cluster: 'library',
      etcd: ['http://10.0.0.1:2379', 'http://10.0.0.2:2379'],
      apiPort: 9090,
      peerPort: 7400,
      zone: '',
    })
  })

  it('take an empty zone, as a pod without the label has it, for none', () => {
    const { zone } = parseClusterNodeConfig({ QUARRY_ZONE: '' }, LEAST)

    expect(zone).to.equal('')
  })

  for (const [name, [flags, message]] of Object.entries(REFUSED)) {
    it(`refuse ${name}`, async () => {
      const error = await errorOf(async () => parseClusterNodeConfig({}, flags))

      expect(error).to.have.property('name', 'ConfigurationError')
      expect(String(error)).to.match(message)
    })
  }

  const ports = { api: 8080, peer: 7400 }
  const advertised: readonly (readonly [Flags, object])[] = [
    [{}, { api: '127.0.0.1:8080', peer: '127.0.0.1:7400' }],
    [{ host: '::1' }, { api: '[::1]:8080', peer: '127.0.0.1:7400' }],
    [{ advertiseUrl: 'http://node-1:80' }, { api: 'node-1:80', peer: 'node-1:7400' }],
    [{ advertiseUrl: 'https://q.example' }, { api: 'q.example:443', peer: 'q.example:7400' }],
  ]
  for (const [flags, expected] of advertised) {
    it(`register ${JSON.stringify(expected)}`, () => {
      const config = parseClusterNodeConfig({}, { ...LEAST, ...flags })

      expect(advertisedAddresses(config, ports)).to.deep.equal(expected)
    })
  }
})

describe('the files of a node of a cluster', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-files-'))
  })

  afterEach(() => rm(folder, { recursive: true }))

  async function written(name: string, content: string): Promise<string> {
    const place = path.join(folder, name)
    await writeFile(place, content)
    return place
  }

  it('are read, without the line feed behind a secret', async () => {
    const config = parseClusterNodeConfig(
      {},
      {
        ...LEAST,
        etcd: 'https://10.0.0.1:2379',
        clusterSecretFile: await written('secret', 'sixteen bytes and more\n'),
        etcdUser: 'quarry',
        etcdPasswordFile: await written('password', 'pass word\r\n'),
        etcdCa: await written('ca', '-----BEGIN CERTIFICATE-----'),
      },
    )

    const files = await readClusterFiles(config)

    expect(files.secret?.toString()).to.equal('sixteen bytes and more')
    expect(files.etcdUser).to.deep.equal({ name: 'quarry', password: 'pass word' })
    expect(Object.keys(files.etcdTls ?? {})).to.deep.equal(['ca'])
    expect(files.peerTls).to.equal(undefined)
    expect(files.secretIsExposed).to.equal(true)
    await chmod(config.clusterSecretFile, 0o640)
    expect((await readClusterFiles(config)).secretIsExposed).to.equal(false)
  })

  it('are refused together, each with its option', async () => {
    const config = parseClusterNodeConfig(
      {},
      {
        ...LEAST,
        etcd: 'https://10.0.0.1:2379',
        clusterSecretFile: await written('secret', 'short\n'),
        etcdUser: 'quarry',
        etcdPasswordFile: path.join(folder, 'absent'),
        etcdCa: await written('ca', 'no certificate'),
      },
    )

    const message = String(await errorOf(() => readClusterFiles(config)))

    expect(message).to.match(/--cluster-secret-file .*secret: it has fewer than 16 bytes/)
    const weak = { ...LEAST, clusterSecretFile: await written('weak', 'a'.repeat(64)) }
    const guessed = String(await errorOf(() => readClusterFiles(parseClusterNodeConfig({}, weak))))
    expect(guessed).to.match(/weak: it repeats a few characters/)
    expect(message).to.match(/--etcd-password-file .*absent: it cannot be read: ENOENT/)
    expect(message).to.match(/--etcd-ca .*ca: it is not in PEM/)
  })

  it('hold further secrets, of which those that are missing or empty count for none', async () => {
    const secret = randomBytes(16).toString('hex')
    const next = randomBytes(16).toString('hex')
    const [own, same, further, empty] = await Promise.all([
      written('own', `${secret}\n`),
      written('same', secret),
      written('next', `${next}\n`),
      written('empty', '\n'),
    ])
    const absent = path.join(folder, 'absent')
    const flags = { ...LEAST, clusterSecretFile: own }
    const files = [same, further, empty, absent].join(',')
    const config = parseClusterNodeConfig({}, { ...flags, acceptedSecretFiles: files })

    const { accepted } = await readClusterFiles(config)

    expect(accepted.map((one) => one.toString())).to.deep.equal([next])
    const weak = await written('weak-next', 'short')
    const wrong = parseClusterNodeConfig({}, { ...flags, acceptedSecretFiles: weak })
    const message = String(await errorOf(() => readClusterFiles(wrong)))
    expect(message).to.match(/--accepted-secret-files .*weak-next: it has fewer than 16 bytes/)
  })

  it('are refused if a certificate is not that of the key beside it', async () => {
    const config = parseClusterNodeConfig(
      {},
      {
        ...LEAST,
        clusterSecretFile: await written('paired', randomBytes(16).toString('hex')),
        peerTlsCa: await written('pair-ca', TEST_CERTIFICATE),
        peerTlsCert: await written('pair-cert', TEST_CERTIFICATE),
        peerTlsKey: await written('pair-key', NEXT_CERTIFICATE_KEY),
        peerNames: 'images.test',
      },
    )

    const message = String(await errorOf(() => readClusterFiles(config)))

    expect(message).to.match(/--peer-tls-cert .*pair-cert: it is of no use with its key/)
  })
})
