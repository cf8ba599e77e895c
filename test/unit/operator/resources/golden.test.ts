import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { CORE_SCHEMA, dump } from 'js-yaml'
import {
  buildClusterSecret,
  buildEtcdAuthoritySecret,
  buildEtcdCertificatesSecret,
} from '../../../../operator/resources/access/generated-secrets.ts'
import { buildChildren, buildSets } from '../../../../operator/resources/cluster-objects.ts'
import type { ClusterInput } from '../../../../operator/resources/parts/cluster-input.ts'
import { CLUSTER_SHAPES } from '../../../support/operator/cluster-shapes.ts'

/** As Kubernetes' tools write: each text on its line, no aliases, and no quotes where YAML 1.2 needs none. */
const YAML_OPTIONS = {
  lineWidth: -1,
  noRefs: true,
  quoteStyle: 'double',
  schema: CORE_SCHEMA,
} as const
const GOLDEN = new URL('../../../golden/operator/', import.meta.url)
/** `QUARRY_TEST_UPDATE_GOLDEN=1` writes the files; a person then reads what changed in them. */
const isUpdate = process.env['QUARRY_TEST_UPDATE_GOLDEN'] === '1'

describe('the objects of a cluster', () => {
  for (const [shape, input] of Object.entries(CLUSTER_SHAPES)) {
    it(`are those of test/golden/operator/${shape}.yaml`, () => {
      const file = new URL(`${shape}.yaml`, GOLDEN)
      const text = yamlOf(input)
      if (isUpdate) {
        mkdirSync(GOLDEN, { recursive: true })
        writeFileSync(file, text)
      }

      expect(text).to.equal(readFileSync(file, 'utf8'))
    })
  }
})

function yamlOf(input: ClusterInput): string {
  const objects = [...generatedSecrets(input), ...buildChildren(input), ...buildSets(input)]
  return objects.map((object) => dump(object, YAML_OPTIONS)).join('---\n')
}

function generatedSecrets(input: ClusterInput) {
  const authorities = [pair('authority')]
  if (input.cluster.spec.mode === 'SingleNode') return []
  const own = buildClusterSecret(input, { secret: 'of this test' })
  if (input.decided.etcd === undefined) return [own]
  return [
    own,
    buildEtcdAuthoritySecret(input, authorities),
    buildEtcdCertificatesSecret(input, {
      authorities,
      server: pair('server'),
      peer: pair('peer'),
      client: pair('client'),
    }),
  ]
}

function pair(name: string) {
  return { key: `key of ${name}`, certificate: `certificate of ${name}` }
}
