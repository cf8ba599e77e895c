// Refuses to delete a StoreCluster whose spec.deletionProtection is true, without a webhook.

import { STORE_CLUSTER } from '../cluster/store-cluster.ts'

const NAME = `deletion-protection.${STORE_CLUSTER.plural}.${STORE_CLUSTER.group}`

/**
 * A policy and its binding, for all namespaces. A namespace that is being deleted takes its clusters along: they could
 * not be kept without it, and the namespace would never be gone.
 */
export function buildDeletionPolicy() {
  const labels = { 'app.kubernetes.io/name': 'quarry', 'app.kubernetes.io/part-of': 'quarry' }
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: NAME, labels },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [STORE_CLUSTER.group],
            apiVersions: ['*'],
            operations: ['DELETE'],
            resources: [STORE_CLUSTER.plural],
          },
        ],
      },
      matchConditions: [
        {
          name: 'is-protected',
          expression:
            'has(oldObject.spec.deletionProtection) && oldObject.spec.deletionProtection == true',
        },
      ],
      validations: [
        {
          expression: 'has(namespaceObject.metadata.deletionTimestamp)',
          reason: 'Forbidden',
          message:
            'spec.deletionProtection is true: set it to false first, and the cluster can be deleted',
        },
      ],
    },
  }
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: NAME, labels },
    spec: { policyName: NAME, validationActions: ['Deny'] },
  }
  return [policy, binding] as const
}
