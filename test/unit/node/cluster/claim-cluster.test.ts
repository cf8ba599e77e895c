import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { claimCluster } from '../../../../node/cluster/claim-cluster.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'

const openStore = (): EmbeddedCoordination =>
  new EmbeddedCoordination(new MemoryKvStore(), systemClock)

const NEW = { name: 'library', remembered: undefined, newId: () => 'c1' }

describe('claimCluster', () => {
  it('creates the cluster once, and lets the others join it', async () => {
    await using store = openStore()

    const claims = ['c1', 'c2', 'c3'].map((id) => claimCluster(store, { ...NEW, newId: () => id }))
    const found = await Promise.all(claims)

    expect(found.map(({ name }) => name)).to.deep.equal(['library', 'library', 'library'])
    expect(new Set(found.map(({ id }) => id)).size).to.equal(1)
  })

  it('knows the cluster of its directory again', async () => {
    await using store = openStore()
    const remembered = await claimCluster(store, NEW)

    expect(await claimCluster(store, { ...NEW, remembered })).to.deep.equal(remembered)
  })

  it('refuses a directory of another cluster, with both names', async () => {
    await using store = openStore()
    await claimCluster(store, NEW)

    const otherName = await errorOf(() =>
      claimCluster(store, { ...NEW, remembered: { name: 'archive', id: 'c9' } }),
    )
    const otherId = await errorOf(() =>
      claimCluster(store, { ...NEW, remembered: { name: 'library', id: 'c9' } }),
    )

    expect(otherName).to.include({ code: 'INVALID_ARGUMENT' })
    expect(otherName)
      .to.have.property('message')
      .that.contains('"archive"')
      .and.contains('"library"')
    expect(otherId).to.include({ code: 'INVALID_ARGUMENT' })
    expect(otherId).to.have.property('message').that.contains('c9').and.contains('c1')
  })

  it('does not create anew a cluster that the store has forgotten', async () => {
    await using store = openStore()

    const error = await errorOf(() =>
      claimCluster(store, { ...NEW, remembered: { name: 'library', id: 'c1' } }),
    )

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(error).to.have.property('message').that.contains('restore a backup of etcd')
    expect((await store.list('')).entries).to.deep.equal([])
  })

  it('refuses a store that is of a cluster with another name', async () => {
    await using store = openStore()
    await claimCluster(store, NEW)

    const error = await errorOf(() => claimCluster(store, { ...NEW, name: 'archive' }))

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(error).to.have.property('message').that.contains('"archive"').and.contains('"library"')
  })
})
