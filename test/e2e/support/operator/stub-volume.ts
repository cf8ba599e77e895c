// The volume that tier api's stub makes for a claim. Nothing is on it.

import type { ResourceKind, StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import { recordOf } from './stored-fields.ts'

/** Volumes have no namespace: this says whose they are. */
export const VOLUME_OF = 'quarry.dev/e2e-namespace'

export const VOLUMES: ResourceKind = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
}

/** A volume of the size and the class that the claim asks for, which Kubernetes binds to no other. */
export function volumeFor({ metadata: { name, uid }, spec }: StoredObject, namespace: string) {
  const { resources, storageClassName } = recordOf(spec)
  const { storage } = recordOf(recordOf(resources)['requests'])
  return {
    apiVersion: 'v1',
    kind: VOLUMES.kind,
    metadata: { name: `stub-${uid}`, labels: { [VOLUME_OF]: namespace } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
      hostPath: { path: '/nowhere' },
      persistentVolumeReclaimPolicy: 'Retain',
      ...(storageClassName === undefined ? {} : { storageClassName }),
    },
  }
}
