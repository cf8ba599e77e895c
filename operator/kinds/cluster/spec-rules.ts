// Rules that see several fields of a StoreCluster, or what a field was before. A rule of an optional field is not asked
// when the field appears or disappears, so what may not change is checked by the object around it.

import type { Rule } from '../schema/fields.ts'
import { ETCD_STORAGE_SIZE } from './etcd.ts'

/** How long names can be, so that names and labels that are made of them fit into 63 characters. */
export const NAME_LENGTH_MAX = 40

const etcdMode = (self: string) => `(has(${self}.etcd) ? ${self}.etcd.mode : 'Managed')`
const etcdSize = (self: string) =>
  `quantity(has(${self}.etcd) ? ${self}.etcd.storage.size : '${ETCD_STORAGE_SIZE}')`
const etcdClass = (self: string) =>
  `(has(${self}.etcd) && has(${self}.etcd.storage.storageClassName) ? ${self}.etcd.storage.storageClassName : '')`
const accountName = (self: string) =>
  `(has(${self}.serviceAccount.name) ? ${self}.serviceAccount.name : '')`

/** The rules of `spec`. */
export const SPEC_RULES: readonly Rule[] = [
  {
    rule: 'self.mode == oldSelf.mode',
    message: 'spec.mode cannot be changed: make another cluster',
  },
  {
    rule: "self.mode != 'SingleNode' || self.nodes.replicas == 1",
    message: 'spec.nodes.replicas must be 1 when spec.mode is SingleNode (it is 3 if it is absent)',
  },
  {
    rule: "self.mode != 'SingleNode' || !has(self.etcd)",
    message: 'spec.etcd can be set only when spec.mode is Distributed',
  },
  {
    rule: `${etcdMode('self')} == ${etcdMode('oldSelf')}`,
    message: 'spec.etcd.mode cannot be changed (it is Managed if it is absent)',
  },
  {
    rule: `${etcdSize('self')}.compareTo(${etcdSize('oldSelf')}) >= 0`,
    message: `spec.etcd.storage.size cannot become less (it is ${ETCD_STORAGE_SIZE} if it is absent)`,
  },
  {
    rule: `${etcdClass('self')} == ${etcdClass('oldSelf')}`,
    message:
      'spec.etcd.storage.storageClassName cannot be changed, added or removed: claims keep the class that they were made with',
  },
  {
    rule: `${accountName('self')} == ${accountName('oldSelf')}`,
    message: 'spec.serviceAccount.name cannot be changed, added or removed',
  },
  {
    rule: "!self.hibernate || self.persistentVolumeClaimRetentionPolicy.whenScaled != 'Delete'",
    message:
      'spec.hibernate cannot be true while spec.persistentVolumeClaimRetentionPolicy.whenScaled is Delete: its volumes must outlive its pods',
  },
  {
    rule: '!has(oldSelf.restartedAt) || (has(self.restartedAt) && self.restartedAt >= oldSelf.restartedAt)',
    message: 'spec.restartedAt cannot be removed or become earlier',
  },
]

/** The rules of the whole object, which see its name and, beside the spec, the status. */
export const ROOT_RULES: readonly Rule[] = [
  {
    rule: `size(self.metadata.name) <= ${NAME_LENGTH_MAX}`,
    message: `metadata.name must have at most ${NAME_LENGTH_MAX} characters: names of other objects are made of it`,
  },
  {
    rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    message:
      'metadata.name must begin with a letter and have only small letters, digits and hyphens: Services are named after it',
  },
  {
    rule: [
      'quantity(self.spec.nodes.storage.size).compareTo(quantity(oldSelf.spec.nodes.storage.size)) >= 0',
      '|| (has(oldSelf.status) && has(oldSelf.status.largestCapacity)',
      '&& quantity(self.spec.nodes.storage.size).compareTo(quantity(oldSelf.status.largestCapacity)) >= 0)',
    ].join(' '),
    message:
      'spec.nodes.storage.size cannot become less, except down to status.largestCapacity: volumes do not shrink',
  },
]
