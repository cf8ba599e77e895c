import { expect } from 'chai'
import type { SetView } from '../../../../operator/machines/observed/kubernetes-view.ts'
import { setViewOf } from '../../../../operator/observe/set-view.ts'
import { ETCD_IMAGE } from '../../../../operator/resources/etcd/etcd-image.ts'
import { buildNodeSet } from '../../../../operator/resources/nodes/node-set.ts'
import { INPUT, storedSet } from '../../../support/operator/pool-objects.ts'

const GIB = 1024 ** 3
const ANNOTATION = 'quarry.dev/template-digest'
const BUILT = buildNodeSet(INPUT).spec.template.metadata?.annotations

/** One row for each field: a change of the object, and what the view has then. */
const FIELDS: {
  readonly [Field in keyof SetView]-?: {
    readonly change: object
    readonly expected: SetView[Field]
  }
} = {
  uid: { change: { metadata: { uid: 'other' } }, expected: 'other' },
  resourceVersion: { change: { metadata: { resourceVersion: '99' } }, expected: '99' },
  generation: { change: { metadata: { generation: 4 } }, expected: 4 },
  observedGeneration: { change: { status: { observedGeneration: 1 } }, expected: 1 },
  replicas: { change: { spec: { replicas: 5 } }, expected: 5 },
  partition: {
    change: { spec: { updateStrategy: { rollingUpdate: { partition: 2 } } } },
    expected: 2,
  },
  updateRevision: { change: { status: { updateRevision: 'rev-c' } }, expected: 'rev-c' },
  isDeleting: {
    change: { metadata: { deletionTimestamp: '2026-11-27T02:00:00Z' } },
    expected: true,
  },
  template: {
    change: {
      spec: {
        template: {
          metadata: {
            annotations: {
              [ANNOTATION]: 'digest',
              'quarry.dev/version': '2.0.0',
              'quarry.dev/restarted-at': '2026-11-27T02:00:00Z',
            },
          },
          spec: { containers: [{ name: 'quarry', image: 'quarry:2' }, { name: 'inference' }] },
        },
      },
    },
    expected: {
      digest: 'digest',
      version: '2.0.0',
      image: 'quarry:2',
      restartedAt: '2026-11-27T02:00:00Z',
    },
  },
  claimBytes: {
    change: {
      spec: {
        volumeClaimTemplates: [
          claimTemplate('models', '1Gi'),
          claimTemplate('data', '1181116006400m'),
        ],
      },
    },
    expected: 1_181_116_007,
  },
}

function claimTemplate(name: string, storage: string) {
  return { metadata: { name }, spec: { resources: { requests: { storage } } } }
}

describe('the view of a StatefulSet', () => {
  for (const [field, { change, expected }] of Object.entries(FIELDS)) {
    it(`has ${field}`, () => {
      expect(setViewOf(storedSet(change))).to.deep.include({ [field]: expected })
    })
  }

  it('has what the builders wrote', () => {
    expect(setViewOf(storedSet())).to.deep.equal({
      uid: 'set-1',
      resourceVersion: '5',
      generation: 2,
      observedGeneration: 2,
      replicas: 3,
      partition: 0,
      updateRevision: 'rev-b',
      isDeleting: false,
      template: { digest: BUILT?.[ANNOTATION], version: '1.2.3', image: 'quarry:1.2.3' },
      claimBytes: 10 * GIB,
    })
  })

  it('has the facts of etcd, whose template has no version of Quarry', () => {
    const { template, claimBytes } = setViewOf(storedSet({}, 'etcd'))

    expect(template.digest).to.match(/^[0-9a-f]{64}$/)
    expect(template).to.include({ version: '', image: ETCD_IMAGE })
    expect(claimBytes).to.equal(2 * GIB)
  })

  it('has an empty digest for a template that nobody of us has written', () => {
    const annotations = { [ANNOTATION]: null, 'quarry.dev/version': null }
    const set = storedSet({ spec: { template: { metadata: { annotations } } } })

    expect(setViewOf(set).template).to.deep.equal({
      digest: '',
      version: '',
      image: 'quarry:1.2.3',
    })
  })

  it('has what Kubernetes takes for absent fields', () => {
    const set = storedSet({ metadata: { generation: null }, spec: null, status: null })

    expect(setViewOf(set)).to.deep.equal({
      uid: 'set-1',
      resourceVersion: '5',
      generation: 0,
      observedGeneration: 0,
      replicas: 1,
      partition: 0,
      updateRevision: '',
      isDeleting: false,
      template: { digest: '', version: '', image: '' },
      claimBytes: 0,
    })
  })

  it('keeps a set of no pods apart from one without a number', () => {
    expect(setViewOf(storedSet({ spec: { replicas: 0 } })).replicas).to.equal(0)
  })
})
