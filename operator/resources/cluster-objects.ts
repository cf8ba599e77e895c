// All objects of a cluster but its generated Secrets, in the order in which they are applied: what pods need comes
// before the pods. What the spec does not ask for is not in the list, and is deleted where it exists.

import { nodeBudgets, etcdBudgets } from './access/disruption-budgets.ts'
import { etcdPolicies, nodePolicies } from './access/network-policies.ts'
import { podMonitors } from './access/pod-monitor.ts'
import { serviceAccounts } from './access/service-account.ts'
import { buildClientService, buildEtcdService, buildNodesService } from './access/services.ts'
import type { BuiltObject } from './parts/built.ts'
import type { ClusterInput } from './parts/cluster-input.ts'
import { buildEtcdMembers, buildEtcdSet } from './etcd/etcd-set.ts'
import { buildConfiguration } from './nodes/node-configuration.ts'
import { buildNodeSet } from './nodes/node-set.ts'

/** May be applied in any state of the cluster: none of them starts or stops a pod. */
export function buildChildren(input: ClusterInput): readonly BuiltObject[] {
  return [
    ...serviceAccounts(input),
    buildConfiguration(input),
    buildNodesService(input),
    buildClientService(input),
    ...nodePolicies(input),
    ...nodeBudgets(input),
    ...podMonitors(input),
    ...etcdChildren(input),
  ]
}

function etcdChildren(input: ClusterInput): readonly BuiltObject[] {
  const { etcd } = input.decided
  if (etcd === undefined) return []
  return [
    buildEtcdMembers(input, etcd),
    buildEtcdService(input),
    ...etcdPolicies(input),
    ...etcdBudgets(input),
  ]
}

/** Whether and when these are applied is decided by the state machines. */
export function buildSets(input: ClusterInput): readonly BuiltObject[] {
  const { etcd } = input.decided
  return [...(etcd === undefined ? [] : [buildEtcdSet(input, etcd)]), buildNodeSet(input)]
}
