// The command line, certificates and members of an own etcd, as the operator builds them, with real etcd processes.

import { expect } from 'chai'
import { buildEtcdMembers } from '../../operator/resources/etcd/etcd-set.ts'
import { KEYS } from '../../operator/resources/parts/names.ts'
import { inputOf } from '../support/operator/cluster-inputs.ts'
import { OperatorEtcd } from '../support/processes/operator-etcd.ts'
import { until } from '../support/until.ts'

const input = inputOf({ nodes: { storage: { size: '1Gi' } } })

describe('an etcd of the operator, with real members', () => {
  let members: OperatorEtcd

  before(async () => {
    members = await OperatorEtcd.open({ input })
    await members.startAll()
  })
  after(() => members[Symbol.asyncDispose]())

  it('serves a client that shows its certificate', async () => {
    await members.control('put', 'key', 'value')

    expect(await members.control('get', 'key', '--print-value-only')).to.equal('value')
  })

  it('serves nobody without a certificate', async () => {
    expect(await members.servesAnybody()).to.equal(false)
  })

  it('takes a client for no member, although one authority signs both', async () => {
    expect(await members.reachesPeer('peer')).to.equal(true)
    expect(await members.reachesPeer('client')).to.equal(false)
  })

  it('answers its probes', async () => {
    expect(await members.probe(0, 'livenessProbe')).to.equal(200)
    expect(await members.probe(0, 'readinessProbe')).to.equal(200)
  })

  it('refuses a member that lost its volume and starts as if it were new', async () => {
    await members.kill(2)
    await members.loseVolume(2)

    expect(await members.start(2, 'new')).to.equal(false)
    expect(members.log(2)).to.match(/already been bootstrapped/)
  })

  it('takes a member that lost its volume back, once it was removed and added', async () => {
    const listed = await members.control('member', 'list')
    const [id = ''] = /^(\w+), \w+, books-etcd-2/m.exec(listed)?.slice(1) ?? []
    // A request that timed out may have taken effect.
    await until(async () => {
      await members.control('member', 'remove', id).catch(() => undefined)
      const left = await members.control('member', 'list').catch(() => id)
      return !left.includes(id)
    })
    const peer = `--peer-urls=https://127.0.0.1:${members.portsOf(2).peers}`
    // Etcd changes no membership before its members have been connected for five seconds.
    await until(() =>
      members.control('member', 'add', 'books-etcd-2', peer).then(
        () => true,
        () => false,
      ),
    )
    await members.loseVolume(2)

    expect(await members.start(2, 'existing'), members.log(2)).to.equal(true)
    expect(await members.control('get', 'key', '--print-value-only')).to.equal('value')
    expect(
      buildEtcdMembers(input, { ...members.etcd, state: 'existing' }).data[
        KEYS.initialClusterState
      ],
    ).to.equal('existing')
  })

  it('is alive and not ready without a quorum', async () => {
    await members.kill(1)
    await members.kill(2)

    expect(await members.probe(0, 'livenessProbe')).to.equal(200)
    expect(await members.probe(0, 'readinessProbe')).not.to.equal(200)
  })
})
