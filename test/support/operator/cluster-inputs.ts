// Specs as people write them, with what the API server fills in, and what the operator might decide for them.

import { Value } from 'typebox/value'
import { spec as specSchema } from '../../../operator/kinds/cluster/spec.ts'
import type { StoreClusterSpec } from '../../../operator/kinds/cluster/spec.ts'
import { ETCD_IMAGE } from '../../../operator/resources/etcd/etcd-image.ts'
import type { ClusterInput, Decided } from '../../../operator/resources/parts/cluster-input.ts'

/** A spec with its defaults. Throws a RangeError that names the fields which the schema refuses. */
export function specOf(written: object): StoreClusterSpec {
  const filled: unknown = Value.Default(specSchema, structuredClone(written))
  if (Value.Check(specSchema, filled)) return filled
  const problems = Value.Errors(specSchema, filled)
  throw new RangeError(
    problems.map(({ instancePath, message }) => `${instancePath}: ${message}`).join('\n'),
  )
}

/** What a test varies beside the spec. */
export interface InputOptions {
  readonly name?: string
  readonly namespace?: string
  readonly decided?: Partial<Decided>
}

export function inputOf(written: object, options: InputOptions = {}): ClusterInput {
  const { name = 'books', namespace = 'shop', decided = {} } = options
  const spec = specOf(written)
  return {
    cluster: { name, namespace, spec, uid: '6f0b2f0e-9c51-4ad5-8a4c-0d7b8c1f2a10' },
    decided: { ...decidedFor(spec), ...decided },
  }
}

function decidedFor(spec: StoreClusterSpec): Decided {
  const { replicas, storage } = spec.nodes
  const members = spec.etcd?.replicas ?? 3
  const hasEtcd = spec.mode === 'Distributed' && spec.etcd?.mode !== 'External'
  return {
    version: spec.version ?? '1.2.3',
    images: {
      node: 'quarry:1.2.3',
      inference: 'quarry-inference:1.2.3',
      etcd: ETCD_IMAGE,
    },
    nodes: { replicas, partition: 0, claimSize: storage.size },
    ...(hasEtcd
      ? {
          etcd: {
            replicas: members,
            partition: 0,
            claimSize: spec.etcd?.storage.size ?? '2Gi',
            state: 'new',
            members: Array.from({ length: members }, (_, ordinal) => ordinal),
            authorityHash: 'a'.repeat(64),
          },
        }
      : {}),
    hasEtcdCertificate: spec.etcd?.tlsSecretRef !== undefined,
    secretHash: 'b'.repeat(64),
    operatorNamespace: 'quarry-system',
    hasPodMonitors: true,
  }
}
