import type { V1StatefulSet } from '@kubernetes/client-node'
import { expect } from 'chai'
import { buildNodeSet } from '../../../../operator/resources/nodes/node-set.ts'
import type { Decided } from '../../../../operator/resources/parts/cluster-input.ts'
import { withKeptTemplate } from '../../../../operator/resources/parts/template-digest.ts'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'

const WRITTEN = { nodes: { storage: { size: '1Gi' } } }

/** The set as an operator of another version has built it, with what the API server fills in. */
function builtByAnother(): V1StatefulSet {
  const set: V1StatefulSet = JSON.parse(JSON.stringify(buildNodeSet(inputOf(WRITTEN))))
  const pod = set.spec?.template.spec
  if (pod !== undefined) {
    Object.assign(pod, { dnsPolicy: 'ClusterFirst', containers: [{ name: 'quarry' }] })
  }
  return set
}

function containersAfter(written: object, decided: Partial<Decided> = {}): number | undefined {
  const wanted = buildNodeSet(inputOf(written, { decided }))
  return withKeptTemplate(wanted, builtByAnother()).spec.template.spec?.containers.length
}

describe('the template of the nodes', () => {
  it('stays as an operator of another version has built it', () => {
    expect(containersAfter(WRITTEN)).to.equal(1)
  })

  it('stays when only the number of nodes, the partition or the size of claims differs', () => {
    const nodes = { replicas: 5, partition: 2, claimSize: '2Gi' }

    expect(
      containersAfter({ nodes: { storage: { size: '2Gi' }, replicas: 5 } }, { nodes }),
    ).to.equal(1)
  })

  it('stays when what concerns other objects differs', () => {
    const others = {
      ...WRITTEN,
      clientService: { port: 80 },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      monitoring: { podMonitor: { enabled: true } },
      deletionProtection: true,
    }

    expect(containersAfter(others)).to.equal(1)
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
    'the number of members of etcd': [{ ...WRITTEN, etcd: { replicas: 5 } }],
  }
  for (const [change, [written, decided]] of Object.entries(changes)) {
    it(`is built anew for ${change}`, () => {
      expect(containersAfter(written, decided)).to.equal(2)
    })
  }

  it('is built where there is none', () => {
    const wanted = buildNodeSet(inputOf(WRITTEN))

    expect(withKeptTemplate(wanted, undefined)).to.equal(wanted)
  })
})
