// The rows of layers.ts that are the operator's.

import type { Layer } from './layer.ts'

export const OPERATOR_LAYERS: Readonly<Record<string, Layer>> = {
  // An etcd that the operator runs, as it sees and steers it.
  'operator/etcd': { mayImport: ['operator/machines', 'lib/etcd', 'lib'] },
  // The one step of a pass, under its preconditions.
  'operator/carry-out': {
    mayImport: [
      'operator/children',
      'operator/secrets',
      'operator/certificates',
      'operator/etcd',
      'operator/store',
      'operator/machines',
      'operator/resources',
      'operator/kinds',
      'operator/runtime',
      'lib',
    ],
  },
  // Which objects of a cluster are not as they are to be.
  'operator/children': {
    mayImport: ['operator/machines', 'operator/resources', 'operator/runtime', 'lib'],
  },
  // From objects of Kubernetes, which anybody may have written, to what the machines read of them.
  'operator/observe': {
    mayImport: [
      'operator/kinds',
      'operator/machines',
      'operator/resources',
      'operator/runtime',
      'lib',
    ],
  },
  // Secrets: which a spec names and what is missing there, and those that the operator makes.
  'operator/secrets': {
    mayImport: [
      'operator/certificates',
      'operator/kinds',
      'operator/machines',
      'operator/resources',
      'operator/runtime',
      'lib',
    ],
  },
  // The process of the operator: who leads, and its ports.
  'operator/server': {
    mayImport: ['operator/metrics', 'operator/reconcile', 'operator/runtime', 'lib/process', 'lib'],
  },
  // One pass over one cluster: read, decide, one step, tell.
  'operator/reconcile': {
    mayImport: [
      'operator/carry-out',
      'operator/children',
      'operator/certificates',
      'operator/etcd',
      'operator/kinds',
      'operator/machines',
      'operator/observe',
      'operator/resources',
      'operator/runtime',
      'operator/secrets',
      'operator/store',
      'lib',
    ],
  },
  // The store as the operator sees and steers it.
  'operator/store': { mayImport: ['operator/machines', 'clients/typescript/src', 'lib'] },
  // What people are told about the words in a status: of a command, and of a page.
  'operator/handbook': {
    mayImport: ['operator/machines', 'operator/resources', 'operator/kinds'],
  },
  // Clusters as Prometheus sees them; pure.
  'operator/metrics': { mayImport: ['operator/kinds', 'lib'] },
  // What the operator does next, decided from what it has read.
  'operator/machines': { mayImport: ['operator/kinds'] },
  // The kinds of the operator: what people write, and what it answers.
  'operator/kinds': { mayImport: [], packages: ['typebox'] },
  // From a StoreCluster and what was decided to the objects of Kubernetes; pure.
  'operator/resources': { mayImport: ['operator/kinds'], types: ['@kubernetes/client-node'] },
  // Certificates of an etcd that the operator runs.
  'operator/certificates': {
    mayImport: [],
    packages: ['@peculiar/asn1-schema', '@peculiar/asn1-x509'],
  },
  // What any operator needs of Kubernetes; it knows no kind.
  'operator/runtime': { mayImport: ['lib'], packages: ['@kubernetes/client-node'] },
}
