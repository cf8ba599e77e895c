import { expect } from 'chai'
import { assert as check, jsonValue, property } from 'fast-check'
import type { StoreCluster } from '../../../../../operator/kinds/cluster/store-cluster.ts'
import { readStoreCluster } from '../../../../../operator/kinds/crd/read-store-cluster.ts'
import { storedCluster } from '../../../../support/operator/stored-cluster.ts'

const problemsOf = (object: unknown) => {
  const read = readStoreCluster(object)
  return read.kind === 'malformed' ? read.problems : []
}

/** The object with another value at a path of names. */
function changed(object: object, [name = '', ...rest]: readonly string[], value: unknown): object {
  const inner: unknown = Object.entries(object).find(([known]) => known === name)?.[1]
  const next = rest.length === 0 ? value : changed(Object(inner), rest, value)
  return { ...object, [name]: next }
}

describe('readStoreCluster', () => {
  it('reads what the API server stored', () => {
    const stored = storedCluster()

    const read = readStoreCluster(stored)

    expect(read).to.deep.equal({ kind: 'cluster', cluster: stored })
  })

  it('says which field is wrong', () => {
    const wrong = changed(storedCluster(), ['spec', 'nodes', 'replicas'], 'three')

    expect(problemsOf(wrong)).to.deep.equal([
      { path: 'spec.nodes.replicas', problem: 'must be integer' },
    ])
  })

  it('writes items and names of maps as people do', () => {
    const wrong = changed(storedCluster(), ['spec', 'nodes', 'env'], [{ name: 'A', value: 1 }])
    const label = changed(storedCluster(), ['spec', 'nodes', 'podLabels'], { 'a.b/c': 1 })

    expect(problemsOf(wrong).map(({ path }) => path)).to.deep.equal(['spec.nodes.env[0].value'])
    expect(problemsOf(label).map(({ path }) => path)).to.deep.equal([
      'spec.nodes.podLabels["a.b/c"]',
    ])
  })

  it('names each default that an older definition of the kind did not fill in', () => {
    const older = changed(storedCluster(), ['spec', 'scaleUp'], {})

    expect(problemsOf(older)).to.deep.equal([
      { path: 'spec.scaleUp.maxConcurrent', problem: 'is missing' },
    ])
  })

  it('keeps fields that a newer definition of the kind has', () => {
    const newer = changed(storedCluster(), ['spec', 'tls'], { mode: 'Operator' })

    expect(readStoreCluster(newer)).to.deep.equal({ kind: 'cluster', cluster: newer })
  })

  it('leaves out of the status what another version of the operator wrote and each pass makes anew', () => {
    const [ready] = [{ ...condition(), type: 'Ready', reason: 'ClusterReady' }]
    const newer = changed(storedCluster(), ['status'], {
      phase: 'Dreaming',
      version: '1.0.0',
      conditions: [ready, { ...condition(), type: 'Dreaming', reason: 'Asleep' }, 'nonsense'],
    })

    const read = readStoreCluster(newer)

    expect(read).to.deep.include({ kind: 'cluster' })
    expect(read.kind === 'cluster' ? read.cluster.status : undefined).to.deep.equal({
      version: '1.0.0',
      conditions: [ready],
    })
  })

  it('leaves nothing out of what one pass tells the next', () => {
    const operation = { type: 'Dream', id: 'a', phase: 'Draining' }
    const wrong = changed(storedCluster(), ['status', 'operation'], operation)

    const paths = problemsOf(wrong).map(({ path }) => path)

    expect(paths).to.include('status.operation.type')
    expect(paths).to.include('status.operation.startedAt')
  })

  it('never says what the value of a field is', () => {
    const secret = 'hunter2'
    const wrong = [
      changed(storedCluster(), ['spec', 'mode'], secret),
      changed(storedCluster(), ['spec', 'nodes', 'storage', 'size'], secret),
      changed(storedCluster(), ['spec', 'nodes', 'replicas'], secret),
      changed(storedCluster(), ['spec', 'nodes'], secret),
      changed(storedCluster(), ['spec', 'restartedAt'], secret),
      changed(storedCluster(), ['spec', 'nodes', 'env'], [{ name: secret.repeat(40) }]),
    ].map(problemsOf)

    expect(wrong.every((problems) => problems.length > 0)).to.equal(true)
    expect(JSON.stringify(wrong)).not.to.include(secret)
  })

  it('answers for any object, and with a bounded number of problems', () => {
    check(
      property(jsonValue(), jsonValue(), jsonValue(), (object, spec, status) => {
        const some = [
          object,
          changed(storedCluster(), ['spec'], spec),
          changed(storedCluster(), ['status'], status),
        ]
        for (const read of some.map(readStoreCluster)) {
          if (read.kind === 'malformed') expect(read.problems).to.have.length.within(1, 16)
        }
      }),
      { numRuns: 200 },
    )
  })
})

function condition(): object {
  return {
    status: 'True',
    message: '',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
}

// Compile-time checks: the types say what the schemas say.
const cluster: StoreCluster = storedCluster()
cluster.spec.mode satisfies 'Distributed' | 'SingleNode'
cluster.spec.nodes.replicas satisfies number
cluster.spec.nodes.storage.size satisfies string
cluster.spec.nodes.storage.storageClassName satisfies string | undefined
cluster.spec.etcd?.replicas satisfies 1 | 3 | 5 | undefined
cluster.spec.podDisruptionBudget.maxUnavailable satisfies number | string
cluster.status?.members?.[0]?.nodeID satisfies string | undefined
// @ts-expect-error -- a stored object is not changed in place
cluster.spec.hibernate = true
// @ts-expect-error -- a field with limits on its words
cluster.spec.logLevel satisfies 'Debug'
