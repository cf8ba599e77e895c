import { expect } from 'chai'
import { buildNodeSet } from '../../../../operator/resources/nodes/node-set.ts'
import type { Decided } from '../../../../operator/resources/parts/cluster-input.ts'
import { ANNOTATIONS } from '../../../../operator/resources/parts/names.ts'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'

const WRITTEN = { nodes: { storage: { size: '1Gi' } } }

function digestOf(written: object, decided: Partial<Decided> = {}): string {
  const { template } = buildNodeSet(inputOf(written, { decided })).spec
  return template.metadata?.annotations?.[ANNOTATIONS.templateDigest] ?? ''
}

describe('the digest of the template of the nodes', () => {
  it('stays when only the number of nodes, the partition or the size of claims differs', () => {
    const nodes = { replicas: 5, partition: 2, claimSize: '2Gi' }

    expect(digestOf({ nodes: { storage: { size: '2Gi' }, replicas: 5 } }, { nodes })).to.equal(
      digestOf(WRITTEN),
    )
  })

  it('stays when what concerns other objects differs', () => {
    const others = {
      ...WRITTEN,
      clientService: { port: 80 },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      monitoring: { podMonitor: { enabled: true } },
      deletionProtection: true,
      etcd: { replicas: 5 },
    }

    expect(digestOf(others)).to.equal(digestOf(WRITTEN))
  })

  const changes: Readonly<Record<string, readonly [object, Partial<Decided>?]>> = {
    'the image': [{ ...WRITTEN, image: 'other' }],
    'the version': [WRITTEN, { version: '9.9.9' }],
    'an option': [{ ...WRITTEN, config: { check_interval_ms: 1 } }],
    'a secret': [WRITTEN, { secretHash: 'c' }],
    'a restart': [{ ...WRITTEN, restartedAt: '2026-11-27T02:00:00Z' }],
    'a model': [
      {
        ...WRITTEN,
        inference: { models: [{ name: 'acme/words' }], modelVolume: { type: 'EmptyDir' } },
      },
    ],
    'a resource': [{ nodes: { ...WRITTEN.nodes, resources: { limits: { cpu: 1 } } } }],
    'the level of the log': [{ ...WRITTEN, logLevel: 'Debug' }],
    'the members of etcd that nodes are told of': [{ ...WRITTEN, etcd: { replicas: 1 } }],
  }
  for (const [change, [written, decided]] of Object.entries(changes)) {
    it(`differs with ${change}`, () => {
      expect(digestOf(written, decided)).to.not.equal(digestOf(WRITTEN))
    })
  }
})
