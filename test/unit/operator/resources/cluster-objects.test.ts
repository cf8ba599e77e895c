import type { V1Container, V1PodSpec, V1StatefulSet } from '@kubernetes/client-node'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../lib/assert.ts'
import { buildChildren, buildSets } from '../../../../operator/resources/cluster-objects.ts'
import type { ClusterInput } from '../../../../operator/resources/parts/cluster-input.ts'
import { WATCHED_KINDS } from '../../../../operator/resources/permissions.ts'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'
import { CLUSTER_SHAPES } from '../../../support/operator/cluster-shapes.ts'
import { randomSpec } from '../../../support/operator/random-spec.ts'
import { restrictedProblems } from '../../../support/operator/restricted-pods.ts'

const RUNS = 100
/** Kubernetes puts the name of a set and a digest of 10 characters and a hyphen into a label. */
const SET_NAME_MAX = 52
const LABEL_MAX = 63
const LONG_NAME = `b${'o'.repeat(38)}k`

/** Clusters of every shape, with the longest name. */
function randomInput(): fc.Arbitrary<ClusterInput> {
  return fc
    .record({
      spec: randomSpec(),
      name: fc.constantFrom('b', LONG_NAME),
      hasPodMonitors: fc.boolean(),
    })
    .map(({ spec, name, hasPodMonitors }) =>
      inputOf(spec, { name, namespace: 'n'.repeat(LABEL_MAX), decided: { hasPodMonitors } }),
    )
}

function setsOf(input: ClusterInput): readonly V1StatefulSet[] {
  const sets: readonly V1StatefulSet[] = JSON.parse(JSON.stringify(buildSets(input)))
  return sets
}

function podOf(set: V1StatefulSet): V1PodSpec {
  return must(set.spec?.template.spec, 'a pod')
}

function containersOf(pod: V1PodSpec): readonly V1Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers]
}

const SEED = Number(process.env['QUARRY_TEST_SEED'] ?? Date.now() % 1_000_000)

describe(`the objects of a cluster of any shape (QUARRY_TEST_SEED=${SEED})`, () => {
  // One sample for all: what takes time is to think of clusters.
  const inputs = fc.sample(randomInput(), { numRuns: RUNS, seed: SEED })

  it('are the same to the byte for equal input', () => {
    for (const input of inputs) {
      const bytes = () => JSON.stringify([buildChildren(input), buildSets(input)])
      const again = JSON.stringify([
        buildChildren(structuredClone(input)),
        buildSets(structuredClone(input)),
      ])

      expect(again).to.equal(bytes())
    }
  })

  it('are admitted by a namespace of the restricted level', () => {
    for (const input of inputs) {
      for (const set of setsOf(input)) expect(restrictedProblems(podOf(set))).to.deep.equal([])
    }
  })

  it('have names and labels within the limits, and each name once for each kind', () => {
    for (const input of inputs) {
      const objects = [...buildChildren(input), ...buildSets(input)]
      const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)

      expect(new Set(names).size).to.equal(names.length)
      for (const { kind, metadata } of objects) {
        const most = kind === 'StatefulSet' ? SET_NAME_MAX : LABEL_MAX
        expect(metadata.name.length).to.be.at.most(most)
        for (const value of Object.values(metadata.labels)) {
          expect(value).to.match(/^([A-Za-z0-9]([\w.-]*[A-Za-z0-9])?)?$/)
        }
      }
    }
  })

  it('are of kinds that the operator watches', () => {
    for (const input of inputs) {
      for (const { apiVersion, kind } of [...buildChildren(input), ...buildSets(input)]) {
        const watched = WATCHED_KINDS.some(
          (one) => one.apiVersion === apiVersion && one.kind === kind,
        )
        expect(watched, kind).to.equal(true)
      }
    }
  })

  it('mount only volumes that the pod has, and each path and variable once', () => {
    for (const input of inputs) {
      for (const set of setsOf(input)) {
        const pod = podOf(set)
        const claims = (set.spec?.volumeClaimTemplates ?? []).map(
          ({ metadata }) => metadata?.name ?? '',
        )
        const volumes = [...(pod.volumes ?? []).map(({ name }) => name), ...claims]
        expectDistinct(volumes)
        expectDistinct(containersOf(pod).map(({ name }) => name))
        expectDistinct(
          pod.containers.flatMap(({ ports = [] }) => ports.map(({ name = '' }) => name)),
        )
        for (const { volumeMounts = [], env = [], args = [] } of containersOf(pod)) {
          expect(volumes).to.include.members(volumeMounts.map(({ name }) => name))
          expectDistinct(volumeMounts.map(({ mountPath }) => mountPath))
          expectDistinct(env.map(({ name }) => name))
          expectDistinct(
            args.filter((arg) => arg.startsWith('--')).map((arg) => arg.split('=')[0] ?? ''),
          )
        }
        const mounted = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts)
        expect(mounted.map(({ name }) => name)).to.include.members(volumes)
      }
    }
  })

  it('select the pods that they make, by labels that follow from the name alone', () => {
    for (const { cluster } of inputs) {
      for (const set of setsOf(inputOf(cluster.spec, { name: 'b' }))) {
        const component = set.metadata?.name === 'b-etcd' ? 'etcd' : 'node'
        expect(set.spec?.selector.matchLabels).to.deep.equal(selectorOf(component))
        expect(set.spec?.template.metadata?.labels).to.include(selectorOf(component))
      }
    }
  })

  it('show no secret', () => {
    // Secrets are named, and their content is built elsewhere: none of the objects is a Secret.
    for (const input of Object.values(CLUSTER_SHAPES)) {
      const kinds = [...buildChildren(input), ...buildSets(input)].map(({ kind }) => kind)
      expect(kinds).not.to.include('Secret')
    }
  })
})

function selectorOf(component: string) {
  return {
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/instance': 'b',
    'app.kubernetes.io/name': 'quarry',
  }
}

function expectDistinct(names: readonly string[]): void {
  expect(names.filter((name, at) => names.indexOf(name) !== at)).to.deep.equal([])
}
