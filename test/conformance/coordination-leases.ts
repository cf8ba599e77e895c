import { expect } from 'chai'
import type { Change, Coordination } from '../../node/coordination/coordination.ts'
import { LEASE_TTL_SECONDS_MAX } from '../../node/coordination/lease.ts'
import type { Lease } from '../../node/coordination/lease.ts'
import { errorOf } from '../support/error-of.ts'
import { until } from '../support/until.ts'
import { always, deleting, forever, putting, revisionOf } from './coordination.ts'

/** Two users of one store, and what a test may do to the first. */
export interface LeaseWorld extends AsyncDisposable {
  readonly owner: Coordination
  readonly other: Coordination
  /** Lets some time pass where the test holds the clock. */
  passTime(): void
  /** From here on the store hears nothing of the owner in time. */
  cutOff(): void
}

export type OpenLeaseWorld = (ttlSeconds: number) => Promise<LeaseWorld>

/** etcd grants 2 s at least with its usual election timeout. A busy machine needs a little more. */
export const TTL_SECONDS = 3

export const leased = (key: string, lease: Lease, value = ''): Change => ({
  ...putting(key, value),
  type: 'put',
  value: Buffer.from(value),
  lease: lease.id,
})

/** Waits for a condition while time passes. */
export async function passUntil(
  world: LeaseWorld,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  await until(async () => {
    world.passTime()
    return condition()
  })
}

/** Every Coordination must pass. `open` gives a new store without entries. */
export function describeLeases(name: string, open: OpenLeaseWorld): void {
  describe(`${name}: Lease contract`, () => {
    describeKeeping(open)
    describeAttaching(open)
    describeLosing(open)
    describeTerms(open)
  })
}

function describeKeeping(open: OpenLeaseWorld): void {
  it('keeps its keys for longer than the TTL by renewing itself', async () => {
    await using world = await open(TTL_SECONDS)
    const lease = await world.owner.grantLease(TTL_SECONDS)
    await world.owner.commit(always(leased('/a', lease)))
    const first = lease.heldUntilMs

    await passUntil(world, () => lease.heldUntilMs > first + lease.ttlSeconds * 1100)

    expect(lease.isHeld()).to.equal(true)
    expect(lease.lost.aborted).to.equal(false)
    expect(await world.other.get('/a')).to.have.property('key', '/a')
  })

  it('deletes its keys in one commit when it is revoked', async () => {
    await using world = await open(TTL_SECONDS)
    const lease = await world.owner.grantLease(TTL_SECONDS)
    const { owner, other } = world
    const put = await owner.commit(always(leased('/a', lease), leased('/b', lease), putting('/c')))

    await lease.revoke()
    await lease.revoke()

    expect(lease.isHeld()).to.equal(false)
    expect(lease.lost.reason).to.include({ code: 'UNAVAILABLE' })
    const { entries } = await other.list('/')
    expect(entries.map(({ key }) => key)).to.deep.equal(['/c'])
    const revisions: number[] = []
    for await (const event of other.watch('/', revisionOf(put) + 1, forever())) {
      if (event.kind === 'delete') revisions.push(event.revision)
      if (revisions.length === 2) break
    }
    expect(revisions[0]).to.equal(revisions[1])
  })

  it('has an id of its own', async () => {
    await using world = await open(TTL_SECONDS)
    const leases = await Promise.all([1, 2, 3].map(() => world.owner.grantLease(TTL_SECONDS)))

    expect(new Set(leases.map(({ id }) => id)).size).to.equal(3)
  })
}

function describeAttaching(open: OpenLeaseWorld): void {
  it('takes a key that was there without it, and keeps its create revision', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const lease = await owner.grantLease(TTL_SECONDS)
    const created = revisionOf(await owner.commit(always(putting('/a', '1'))))
    await owner.commit(always(leased('/a', lease, '2')))

    expect(await other.get('/a')).to.include({ createRevision: created })
    await lease.revoke()
    expect(await other.get('/a')).to.equal(undefined)
  })

  it('lets go of a key that is put without it', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const lease = await owner.grantLease(TTL_SECONDS)
    const created = revisionOf(await owner.commit(always(leased('/a', lease, '1'))))
    await owner.commit(always(putting('/a', '2')))
    await lease.revoke()

    const left = await other.get('/a')

    expect(left).to.include({ createRevision: created })
    expect(left?.value.toString()).to.equal('2')
  })

  it('lets go of a key that is put with another lease', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const [first, second] = await Promise.all([
      owner.grantLease(TTL_SECONDS),
      owner.grantLease(TTL_SECONDS),
    ])
    await owner.commit(always(leased('/a', first, '1')))
    await owner.commit(always(leased('/a', second, '2')))

    await first.revoke()
    expect((await other.get('/a'))?.value.toString()).to.equal('2')
    await second.revoke()
    expect(await other.get('/a')).to.equal(undefined)
  })

  it('forgets a key that is deleted', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const lease = await owner.grantLease(TTL_SECONDS)
    await owner.commit(always(leased('/a', lease)))
    await owner.commit(always(deleting('/a')))
    await owner.commit(always(putting('/a', 'without')))
    await lease.revoke()

    expect((await other.get('/a'))?.value.toString()).to.equal('without')
  })

  it('takes no key when it is gone, and the commit changes nothing', async () => {
    await using world = await open(TTL_SECONDS)
    const { owner, other } = world
    const lease = await owner.grantLease(TTL_SECONDS)
    await lease.revoke()

    const error = await errorOf(() => owner.commit(always(putting('/a'), leased('/b', lease))))

    expect(error).to.include({ code: 'NOT_FOUND' })
    expect((await other.list('/')).entries).to.deep.equal([])
  })
}

function describeLosing(open: OpenLeaseWorld): void {
  it('is lost for its owner before others see the keys gone', async () => {
    await using world = await open(TTL_SECONDS)
    const lease = await world.owner.grantLease(TTL_SECONDS)
    const put = await world.owner.commit(always(leased('/a', lease)))
    const order: string[] = []
    lease.lost.addEventListener('abort', () => order.push(`lost, held: ${lease.isHeld()}`))
    const deleted = (async () => {
      const watch = world.other.watch('/a', revisionOf(put) + 1, forever())
      for await (const { kind } of watch) if (order.push(kind) > 0) return
    })()

    world.cutOff()
    await passUntil(world, () => order.length === 2)
    await deleted

    expect(order).to.deep.equal(['lost, held: false', 'delete'])
    expect(lease.lost.reason).to.include({ code: 'UNAVAILABLE' })
  })

  it('is never held again once it is lost', async () => {
    await using world = await open(TTL_SECONDS)
    const lease = await world.owner.grantLease(TTL_SECONDS)
    world.cutOff()
    await passUntil(world, () => !lease.isHeld())
    const { heldUntilMs } = lease

    await passUntil(world, () => lease.lost.aborted)

    expect(lease.isHeld()).to.equal(false)
    expect(lease.heldUntilMs).to.equal(heldUntilMs)
  })

  it('is lost when its store is closed', async () => {
    await using world = await open(TTL_SECONDS)
    const lease = await world.owner.grantLease(TTL_SECONDS)

    await world.owner.close()

    expect(lease.isHeld()).to.equal(false)
    expect(lease.lost.reason).to.include({ code: 'UNAVAILABLE' })
  })
}

function describeTerms(open: OpenLeaseWorld): void {
  for (const ttlSeconds of [0, -1, 1.5, Number.NaN, LEASE_TTL_SECONDS_MAX + 1]) {
    it(`refuses ${ttlSeconds} seconds`, async () => {
      await using world = await open(TTL_SECONDS)

      const error = await errorOf(() => world.owner.grantLease(ttlSeconds))

      expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    })
  }

  it('lives for at least the seconds that were asked for', async () => {
    await using world = await open(TTL_SECONDS)
    for (const ttlSeconds of [1, 7, LEASE_TTL_SECONDS_MAX]) {
      const lease = await world.owner.grantLease(ttlSeconds)
      expect(lease.ttlSeconds).to.be.at.least(ttlSeconds)
      await lease.revoke()
    }
  })
}
