import { expect } from 'chai'
import type { Commit, Coordination } from '../../node/coordination/coordination.ts'
import { Election } from '../../node/coordination/election.ts'
import type { ElectedLeader, Leadership } from '../../node/coordination/election.ts'
import { errorOf } from '../support/error-of.ts'
import { passUntil, TTL_SECONDS } from './coordination-leases.ts'
import type { OpenLeaseWorld } from './coordination-leases.ts'
import { always, deleting, forever, putting } from './coordination.ts'

const PREFIX = '/controller'

async function candidateOf(store: Coordination, name: string) {
  return { lease: await store.grantLease(TTL_SECONDS), value: Buffer.from(name) }
}

const fenced = ({ fence }: Leadership, value: string): Commit => ({
  when: [fence],
  changes: [putting('/plan', value)],
})

const shown = (leader: ElectedLeader | undefined): string => leader?.value.toString() ?? 'nobody'

/** Elections over every Coordination must pass. `open` gives a new store without entries. */
export function describeElections(name: string, open: OpenLeaseWorld): void {
  describe(`${name}: Election contract`, () => {
    describeCampaigns(open)
    describeEnds(open)
    describeObservers(open)
  })
}

function describeCampaigns(open: OpenLeaseWorld): void {
  it('elects a lone candidate at once', async () => {
    await using world = await open(TTL_SECONDS)
    const election = new Election(world.owner, PREFIX)

    const leadership = await election.campaign(await candidateOf(world.owner, 'one'), forever())

    expect(await new Election(world.other, PREFIX).leader()).to.deep.equal({
      value: Buffer.from('one'),
      token: leadership.token,
    })
    expect(leadership.lost.aborted).to.equal(false)
  })

  it('lets candidates lead one after the other in the order of their campaigns', async () => {
    await using world = await open(TTL_SECONDS)
    const election = new Election(world.owner, PREFIX)
    const order: string[] = []
    const first = await election.campaign(await candidateOf(world.owner, 'first'), forever())
    const tokens = [first.token]
    const waiting: Promise<void>[] = []
    for (const [name, store] of [
      ['second', world.other],
      ['third', world.owner],
    ] as const) {
      const candidate = await candidateOf(store, name)
      const campaign = new Election(store, PREFIX).campaign(candidate, forever())
      waiting.push(
        campaign.then((leadership) => {
          order.push(name)
          tokens.push(leadership.token)
          return leadership.resign()
        }),
      )
      const isThere = async (): Promise<boolean> =>
        (await world.owner.get(`${PREFIX}/${candidate.lease.id}`)) !== undefined
      await passUntil(world, isThere)
    }
    expect(shown(await election.leader())).to.equal('first')

    await first.resign()
    await Promise.all(waiting)

    expect(order).to.deep.equal(['second', 'third'])
    expect(tokens).to.deep.equal(tokens.toSorted((one, other) => one - other))
    expect(new Set(tokens).size).to.equal(3)
    expect(await election.leader()).to.equal(undefined)
  })

  it('does not elect a candidate that has withdrawn', async () => {
    await using world = await open(TTL_SECONDS)
    const election = new Election(world.owner, PREFIX)
    const leading = await election.campaign(await candidateOf(world.owner, 'one'), forever())
    const stop = new AbortController()
    const campaign = errorOf(async () =>
      election.campaign(await candidateOf(world.owner, 'two'), stop.signal),
    )
    const candidates = async (): Promise<number> =>
      (await world.other.list(`${PREFIX}/`)).entries.length
    await passUntil(world, async () => (await candidates()) === 2)

    stop.abort(new Error('no longer wanted'))

    expect(await campaign).to.have.property('message', 'no longer wanted')
    expect(await candidates()).to.equal(1)
    await leading.resign()
    expect(await election.leader()).to.equal(undefined)
  })

  it('refuses a candidate whose lease ends while it waits', async () => {
    await using world = await open(TTL_SECONDS)
    const election = new Election(world.owner, PREFIX)
    await election.campaign(await candidateOf(world.owner, 'one'), forever())
    const candidate = await candidateOf(world.owner, 'two')
    const campaign = errorOf(() => election.campaign(candidate, forever()))

    await candidate.lease.revoke()

    expect(await campaign).to.include({ code: 'UNAVAILABLE' })
  })
}

function describeEnds(open: OpenLeaseWorld): void {
  it('fences the commits of a leader', async () => {
    await using world = await open(TTL_SECONDS)
    const election = new Election(world.owner, PREFIX)
    const leading = await election.campaign(await candidateOf(world.owner, 'one'), forever())

    expect(await world.owner.commit(fenced(leading, '1'))).to.have.property('kind', 'committed')
    await leading.proclaim(Buffer.from('one, renamed'))
    expect(await world.owner.commit(fenced(leading, '2'))).to.have.property('kind', 'committed')
    await leading.resign()
    await leading.resign()

    expect(leading.lost.aborted).to.equal(true)
    expect(await world.owner.commit(fenced(leading, '3'))).to.have.property('kind', 'conflict')
    expect(await errorOf(() => leading.proclaim(Buffer.from('again')))).to.include({
      code: 'CONFLICT',
    })
    expect((await world.other.get('/plan'))?.value.toString()).to.equal('2')
  })

  it('elects the next when a leader falls silent, after that leader knows it', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const leading = await new Election(owner, PREFIX).campaign(
      await candidateOf(owner, 'one'),
      forever(),
    )
    const order: string[] = []
    leading.lost.addEventListener('abort', () => order.push('lost'))

    world.cutOff()
    await passUntil(world, () => leading.lost.aborted)
    const campaign = new Election(other, PREFIX)
      .campaign(await candidateOf(other, 'two'), forever())
      .finally(() => order.push('elected'))
    await passUntil(world, () => order.length === 2)
    const next = await campaign

    expect(order).to.deep.equal(['lost', 'elected'])
    expect(next.token).to.be.greaterThan(leading.token)
    expect(await other.commit(fenced(leading, 'late'))).to.have.property('kind', 'conflict')
    expect(await other.commit(fenced(next, 'next'))).to.have.property('kind', 'committed')
  })

  it('tells a leader that its key was deleted', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const leading = await new Election(owner, PREFIX).campaign(
      await candidateOf(owner, 'one'),
      forever(),
    )

    await other.commit(always(deleting(leading.fence.key)))
    await passUntil(world, () => leading.lost.aborted)

    expect(leading.lost.reason).to.include({ code: 'UNAVAILABLE' })
  })
}

function describeObservers(open: OpenLeaseWorld): void {
  it('shows every leader in order, and ends when its signal aborts', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const election = new Election(owner, PREFIX)
    const stop = new AbortController()
    const seen: string[] = []
    const observed = (async () => {
      const leaders = new Election(other, PREFIX).observe(stop.signal)
      for await (const leader of leaders) seen.push(shown(leader))
    })()
    const sees = (count: number): Promise<void> => passUntil(world, () => seen.length === count)

    await sees(1)
    const leading = await election.campaign(await candidateOf(owner, 'one'), forever())
    await sees(2)
    await leading.proclaim(Buffer.from('renamed'))
    await sees(3)
    await leading.resign()
    await sees(4)
    stop.abort()
    await observed

    expect(seen).to.deep.equal(['nobody', 'one', 'renamed', 'nobody'])
  })
}
