import { expect } from 'chai'
import { decide } from '../../../../../operator/machines/decide.ts'
import type { ClaimView } from '../../../../../operator/machines/observed/kubernetes-view.ts'
import type { Desired, Observed } from '../../../../../operator/machines/observed/observed.ts'
import type { StoreClusterStatus } from '../../../../../operator/kinds/cluster/status.ts'
import { settle } from '../../../../support/operator/operator-run.ts'
import { World } from '../../../../support/operator/world.ts'

const FRESH = { cluster: 0, nodes: 0, etcd: 0 }
const HOUR_MS = 3_600_000

/** A cluster that has been as its spec says for an hour, with volumes of 100 bytes. */
function calmHour(): Observed {
  const world = new World({ replicationFactor: 2 })
  settle(world, decide)
  const observed = world.observe(FRESH)
  return { ...observed, nowMs: observed.nowMs + HOUR_MS }
}

interface Change {
  readonly claims?: Partial<ClaimView>
  /** What is changed of the claim of ordinal 1 alone. */
  readonly one?: Partial<ClaimView>
  readonly desired?: Partial<Desired>
  readonly status?: Partial<StoreClusterStatus>
  /** Since when the condition StorageReady is as it is. */
  readonly sizedMs?: number
  readonly isPaused?: boolean
}

function changed(change: Change): Observed {
  const calm = calmHour()
  const { claims, one, desired, status, sizedMs = HOUR_MS, isPaused = false } = change
  const lastTransitionTime = new Date(calm.nowMs - sizedMs).toISOString()
  const conditions = (calm.cluster.status?.conditions ?? []).map((condition) =>
    condition.type === 'StorageReady' ? { ...condition, lastTransitionTime } : condition,
  )
  return {
    ...calm,
    desired: { ...calm.desired, ...desired },
    cluster: {
      ...calm.cluster,
      overrides: { ...calm.cluster.overrides, isPaused },
      status: { ...calm.cluster.status, conditions, ...status },
    },
    nodes: {
      ...calm.nodes,
      claims: calm.nodes.claims.map((claim) => ({
        ...claim,
        usedPercent: claim.ordinal === 1 ? 90 : 20,
        ...claims,
        ...(claim.ordinal === 1 ? one : {}),
      })),
    },
  }
}

const LIMITS = { thresholdPercent: 85, incrementBytes: 30, maxBytes: 400 }

function ago(ms: number): string {
  return new Date(calmHour().nowMs - ms).toISOString()
}

/** To which size volumes grow; `undefined`: they do not. */
const CASES: Readonly<Record<string, { readonly change: Change; readonly grown?: string }>> = {
  'all volumes grow when one of them is nearly full': { change: {}, grown: '130' },
  'no volume grows below the threshold': { change: { one: { usedPercent: 84 } } },
  'no volume grows while nobody says how full they are': {
    change: { claims: { usedPercent: 0 }, one: { usedPercent: 0 } },
  },
  'the largest size bounds a growth': {
    change: { desired: { autoGrow: { ...LIMITS, maxBytes: 110 } } },
    grown: '110',
  },
  'nothing grows past the largest size': {
    change: { desired: { autoGrow: { ...LIMITS, maxBytes: 100 } } },
  },
  'a provider that gives more than was asked for does not stop growth': {
    change: { claims: { capacityBytes: 160 } },
    grown: '190',
  },
  'a largest size that a provider has passed is reached': {
    change: { claims: { capacityBytes: 400 } },
  },
  'nothing grows again for ten minutes': { change: { status: { lastGrownAt: ago(590_000) } } },
  'volumes grow again after ten minutes': {
    change: { status: { lastGrownAt: ago(600_000) } },
    grown: '130',
  },
  'nothing grows on figures from before the last growth': { change: { sizedMs: 119_000 } },
  'nothing grows while a volume is smaller than is asked for': {
    change: { one: { requestedBytes: 100, capacityBytes: 90 } },
  },
  'nothing grows while a volume changes its size': { change: { one: { resize: 'Resizing' } } },
  'nothing grows where a class cannot expand volumes': { change: { one: { isExpandable: false } } },
  'nothing grows while the operator is paused': { change: { isPaused: true } },
}

function degradedBy(change: Change) {
  return decide(changed(change)).status.conditions?.find(({ type }) => type === 'Degraded')
}

describe('volumes that grow by themselves', () => {
  for (const [name, { change, grown }] of Object.entries(CASES)) {
    it(name, () => {
      const observed = changed(change)

      const { status, step, events } = decide(observed)

      expect(status.grownSize).to.equal(grown)
      expect(step).to.equal(undefined)
      const told = events.filter(({ reason }) => reason === 'VolumesAutoGrown')
      expect(told.map(({ message }) => message)).to.deep.equal(
        grown === undefined ? [] : [`all volumes of nodes grow to ${grown}`],
      )
      if (grown !== undefined) {
        expect(status.lastGrownAt).to.equal(new Date(observed.nowMs).toISOString())
      }
    })
  }

  it('grow by a larger size of the spec first', () => {
    const observed = changed({ desired: { claimBytes: 200, specClaimBytes: 200 } })

    const { status, step } = decide(observed)

    expect(step).to.include({ kind: 'grow_claim', bytes: 200 })
    expect(status.grownSize).to.equal(undefined)
  })

  it('stay at what they grew to when growth is switched off', () => {
    const { autoGrow: _, ...desired } = calmHour().desired
    const observed = changed({ status: { grownSize: '130' }, claims: GROWN })

    const { status } = decide({ ...observed, desired: { ...desired, claimBytes: 130 } })

    expect(status.grownSize).to.equal('130')
  })

  it('forget what they grew to when the spec asks for as much', () => {
    const desired = { claimBytes: 130, specClaimBytes: 130 }
    const observed = changed({
      desired,
      status: { grownSize: '130' },
      claims: GROWN,
      one: { usedPercent: 20 },
    })

    expect(decide(observed).status.grownSize).to.equal(undefined)
  })

  it('give up a growth that a driver refuses, once growth is switched off', () => {
    const refused: Partial<ClaimView> = { requestedBytes: 130, resize: 'Failed' }
    const change = { status: { grownSize: '130' }, one: refused }
    const waiting = changed({ ...change, desired: { claimBytes: 130 } })
    const { autoGrow: _, ...off } = waiting.desired

    expect(decide(waiting).status.grownSize).to.equal('130')
    expect(decide({ ...waiting, desired: off }).status.grownSize).to.equal(undefined)
  })

  it('are told of when they are nearly full and may not grow', () => {
    expect(degradedBy({})).to.include({ status: 'False' })
    expect(degradedBy({ one: { usedPercent: 97 } })).to.include({ reason: 'DiskNearlyFull' })
    expect(degradedBy({ desired: { autoGrow: { ...LIMITS, maxBytes: 100 } } })).to.include({
      status: 'True',
      reason: 'DiskNearlyFull',
      message: 'data-c-node-1: spec.nodes.storage.autoGrow.maxSize is reached',
    })
  })
})

const GROWN: Partial<ClaimView> = { requestedBytes: 130, capacityBytes: 130 }
