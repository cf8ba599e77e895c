import { expect } from 'chai'
import { malformedStatus, refusedStatus } from '../../../../operator/reconcile/told-status.ts'
import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

function objectWith(status: unknown): StoredObject {
  const metadata = { name: 'c', namespace: 'n', uid: 'u', resourceVersion: '1', generation: 4 }
  return { apiVersion: 'quarry.dev/v1alpha1', kind: 'StoreCluster', metadata, status }
}

function refused(message: string, status: unknown, nowMs = NOW_MS) {
  return refusedStatus(objectWith(status), { step: 'create_set', error: new Error(message) }, nowMs)
}

describe('the status of a cluster that cannot be read', () => {
  const problems = [{ path: 'status.operation.phase', problem: 'must be one of the phases' }]

  it('names the field, and keeps all else, so that a mended operator continues the operation', () => {
    const operation = { type: 'Upgrade', phase: 'OfTomorrow' }
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'ClusterReady',
      message: '',
      observedGeneration: 3,
      lastTransitionTime: '2025-01-01T00:00:00Z',
    }

    const status = malformedStatus(objectWith({ operation, conditions: [ready] }), problems, NOW_MS)

    expect(status['operation']).to.deep.equal(operation)
    expect(status['conditions']).to.deep.equal([
      ready,
      {
        type: 'SpecValid',
        status: 'False',
        reason: 'MalformedObject',
        message: 'status.operation.phase must be one of the phases',
        observedGeneration: 4,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ])
  })

  it('is the same in the next pass, so that nothing is written', () => {
    const first = malformedStatus(objectWith('nonsense'), problems, NOW_MS)

    expect(malformedStatus(objectWith(first), problems, NOW_MS + 60_000)).to.deep.equal(first)
  })
})

describe('the status of a cluster whose step the API server refuses', () => {
  it('says so in the words of the API server, and whether it is a quota', () => {
    const message = 'pods "c-node-0" is forbidden: violates PodSecurity "restricted"'

    expect(refused(message, { phase: 'Pending' })).to.deep.equal({
      phase: 'Pending',
      conditions: [
        {
          type: 'Degraded',
          status: 'True',
          reason: 'Forbidden',
          message: `create_set: ${message}`,
          observedGeneration: 4,
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    })
    const { conditions } = Object(refused('forbidden: exceeded quota: compute', {}))
    expect(conditions[0]).to.include({ reason: 'QuotaExceeded' })
  })

  it('is the same when it is refused again, so that nothing is written', () => {
    const first = refused('is forbidden', {})

    expect(refused('is forbidden', first, NOW_MS + 60_000)).to.deep.equal(first)
  })
})
