import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { stringify } from 'yaml'
import {
  buildClusterSecret,
  buildEtcdAuthoritySecret,
  buildEtcdCertificatesSecret,
} from '../../../../operator/resources/access/generated-secrets.ts'
import { buildChildren, buildSets } from '../../../../operator/resources/cluster-objects.ts'
import type { ClusterInput } from '../../../../operator/resources/parts/cluster-input.ts'
import { CLUSTER_SHAPES } from '../../../support/operator/cluster-shapes.ts'

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
  return objects
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
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
