import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { KeptLease, momentOf } from '../../../../node/coordination/kept-lease.ts'
import type { LeaseHome, RenewalWait } from '../../../../node/coordination/kept-lease.ts'
import { isLeaseId } from '../../../../node/coordination/lease.ts'
import type { LeaseId } from '../../../../node/coordination/lease.ts'
import { must } from '../../../../lib/assert.ts'
import { errorOf } from '../../../support/error-of.ts'
import { until } from '../../../support/until.ts'

const TTL_SECONDS = 10
const PERIOD_MS = 10_000 / 3

/** A store that answers renewals when the test says so. */
class ScriptedHome implements LeaseHome {
  readonly renewals: PromiseWithResolvers<number | undefined>[] = []
  revoked = 0
  isAway = false

  renew(_id: LeaseId, _wait: RenewalWait): Promise<number | undefined> {
    const renewal = Promise.withResolvers<number | undefined>()
    this.renewals.push(renewal)
    return renewal.promise
  }

  async revoke(): Promise<void> {
    if (this.isAway) throw new Error('away')
    this.revoked += 1
  }
}

function keep() {
  const clock = new ManualClock()
  const home = new ScriptedHome()
  const id = '7'
  if (!isLeaseId(id)) throw new TypeError('an id')
  const lease = new KeptLease({
    id,
    ttlSeconds: TTL_SECONDS,
    grantedAt: momentOf(clock),
    clock,
    home,
  })
  const renewal = async (number: number): Promise<PromiseWithResolvers<number | undefined>> => {
    await until(async () => home.renewals.length >= number)
    return must(home.renewals[number - 1], 'a renewal')
  }
  return { clock, home, lease, renewal }
}

describe('KeptLease', () => {
  it('is held until 0.8 of the TTL after the sending of the last answered renewal (KL1)', async () => {
    const { clock, lease, renewal } = keep()
    expect(lease.heldUntilMs).to.equal(8000)

    clock.advance(PERIOD_MS)
    const first = await renewal(1)
    clock.advance(2000) // the answer is on its way
    first.resolve(TTL_SECONDS)
    await until(async () => lease.heldUntilMs > 8000)

    expect(lease.heldUntilMs).to.equal(PERIOD_MS + 8000)
  })

  it('is lost when no renewal is answered, and asks for nothing more', async () => {
    const { clock, home, lease, renewal } = keep()
    clock.advance(PERIOD_MS)
    await renewal(1)
    clock.advance(8000 - PERIOD_MS)

    expect(lease.isHeld()).to.equal(false)
    await until(async () => lease.lost.aborted)
    clock.advance(100_000)
    expect(home.renewals).to.have.length(1)
  })

  it('tries again soon when a renewal fails', async () => {
    const { clock, lease, renewal } = keep()
    clock.advance(PERIOD_MS)
    ;(await renewal(1)).reject(new Error('no answer'))
    await until(async () => {
      clock.advance(10)
      return clock.monotonicMs() > PERIOD_MS + 700
    })
    ;(await renewal(2)).resolve(TTL_SECONDS)
    await until(async () => lease.heldUntilMs > 8000)

    expect(lease.isHeld()).to.equal(true)
  })

  it('is lost when the answer comes too late, though nobody had looked (KL2)', async () => {
    const { clock, lease, renewal } = keep()
    clock.advance(PERIOD_MS)
    const first = await renewal(1)
    clock.advance(8000 - PERIOD_MS)
    first.resolve(TTL_SECONDS)

    await until(async () => lease.lost.aborted)
    expect(lease.heldUntilMs).to.equal(8000)
  })

  it('is lost when the store has ended it', async () => {
    const { clock, lease, renewal } = keep()
    clock.advance(PERIOD_MS)
    ;(await renewal(1)).resolve(undefined)

    await until(async () => lease.lost.aborted)
    expect(lease.isHeld()).to.equal(false)
  })

  it('is not held after the machine slept for longer, though no timer has run', () => {
    const { clock, lease } = keep()
    clock.suspend(8000)
    expect(lease.isHeld(), 'within the precision of the clock').to.equal(true)

    clock.suspend(1000)

    expect(lease.isHeld()).to.equal(false)
  })

  it('takes the TTL that the store says', async () => {
    const { clock, lease, renewal } = keep()
    clock.advance(PERIOD_MS)
    ;(await renewal(1)).resolve(20)
    await until(async () => lease.ttlSeconds === 20)

    expect(lease.heldUntilMs).to.equal(PERIOD_MS + 16_000)
  })

  it('is revoked once', async () => {
    const { home, lease } = keep()
    await Promise.all([lease.revoke(), lease.revoke()])

    expect(home.revoked).to.equal(1)
    expect(lease.isHeld()).to.equal(false)
  })

  it('is revoked again when the store was away', async () => {
    const { home, lease } = keep()
    home.isAway = true
    const error = await errorOf(() => lease.revoke())
    home.isAway = false

    await lease.revoke()

    expect(error).to.be.instanceOf(Error)
    expect(home.revoked).to.equal(1)
  })
})
