// Where a cluster keeps its configuration: in an etcd of its own, or in one that others run.

import { Type } from 'typebox'
import { choice, object, optional, quantity, set, text } from '../schema/fields.ts'
import type { Rule } from '../schema/fields.ts'
import { resources } from '../core/containers.ts'
import { objectName, reference } from '../core/names.ts'

export const ETCD_STORAGE_SIZE = '2Gi'
const ENDPOINTS_MAX = 9
const IMAGE_LENGTH_MAX = 512

const ETCD_RULES: readonly Rule[] = [
  {
    rule: "self.mode != 'External' || (has(self.endpoints) && size(self.endpoints) > 0)",
    message: 'spec.etcd.endpoints must name the members when spec.etcd.mode is External',
  },
  {
    rule: "self.mode == 'External' || !has(self.endpoints)",
    message: 'spec.etcd.endpoints can be set only when spec.etcd.mode is External',
  },
  {
    rule: "self.mode == 'External' || !has(self.tlsSecretRef)",
    message:
      'spec.etcd.tlsSecretRef can be set only when spec.etcd.mode is External; the operator makes the certificates of a managed etcd',
  },
  {
    rule: "self.mode == 'External' || !has(self.credentialsSecretRef)",
    message: 'spec.etcd.credentialsSecretRef can be set only when spec.etcd.mode is External',
  },
  {
    rule: "!has(self.tlsSecretRef) || !has(self.endpoints) || self.endpoints.all(endpoint, endpoint.startsWith('https://'))",
    message: 'spec.etcd.endpoints must begin with https:// when spec.etcd.tlsSecretRef is set',
  },
  {
    rule: "self.mode == 'Managed' || !has(self.image)",
    message: 'spec.etcd.image can be set only when spec.etcd.mode is Managed',
  },
  {
    rule: "self.mode == 'Managed' || !has(self.resources)",
    message: 'spec.etcd.resources can be set only when spec.etcd.mode is Managed',
  },
]

export const etcd = object(
  'Where the cluster keeps its configuration, in mode Distributed. Absent: an etcd of its own with the defaults.',
  {
    mode: choice(
      ['Managed', 'External'],
      'Whether the operator runs an etcd for this cluster alone, or others run one. Cannot be changed.',
      'Managed',
    ),
    endpoints: optional(
      set(
        'The members of an external etcd.',
        text('The URL of a member.', {
          max: 256,
          min: 1,
          pattern: String.raw`^https?://[^/\s]+$`,
        }),
        { max: ENDPOINTS_MAX },
      ),
    ),
    tlsSecretRef: optional(
      reference(
        'A Secret with ca.crt, and with tls.crt and tls.key if an external etcd asks for a certificate.',
      ),
    ),
    credentialsSecretRef: optional(
      reference('A Secret with the username and the password for an external etcd.'),
    ),
    image: optional(
      text('The image of a managed etcd; absent: the one that this operator was tested with.', {
        max: IMAGE_LENGTH_MAX,
        min: 1,
      }),
    ),
    replicas: Type.Unsafe<1 | 3 | 5>({
      type: 'integer',
      format: 'int32',
      enum: [1, 3, 5],
      default: 3,
      description: 'How many members a managed etcd has.',
    }),
    storage: object(
      'The volume of each member of a managed etcd.',
      {
        size: quantity('How large the volume is. It may grow.', ETCD_STORAGE_SIZE),
        storageClassName: optional(
          objectName(
            "The StorageClass of the volumes; absent: the Kubernetes cluster's default. Cannot be changed.",
          ),
        ),
      },
      { default: {} },
    ),
    resources: optional(resources('Processor time and memory of each member of a managed etcd.')),
  },
  { rules: ETCD_RULES },
)
