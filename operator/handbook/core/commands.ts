// Commands that show more. CLUSTER, POD and CLAIM stand for names; all are typed in the namespace of the cluster.

import { selectorLabels } from '../../resources/parts/names.ts'

const SELECTOR = Object.entries(selectorLabels('CLUSTER', 'node'))
  .filter(([label]) => !label.endsWith('/component'))
  .map(([label, value]) => `${label}=${value}`)
  .join(',')

/** The nodes have the program, whatever it is called where the reader is. */
const inNode = (words: string): string => `kubectl exec CLUSTER-node-0 -c quarry -- quarry ${words}`

export const LOOK = {
  cluster: 'kubectl describe storecluster CLUSTER',
  events: 'kubectl events --for storecluster/CLUSTER',
  pods: `kubectl get pods -l ${SELECTOR} -o wide`,
  pod: 'kubectl describe pod POD',
  lastLog: 'kubectl logs POD -c quarry --previous --tail=50',
  log: 'kubectl logs POD -c quarry --tail=100',
  inferenceLog: 'kubectl logs POD -c inference --tail=50',
  etcdLog: 'kubectl logs CLUSTER-etcd-0 --tail=50',
  claims: `kubectl get pvc -l ${SELECTOR}`,
  claim: 'kubectl describe pvc CLAIM',
  status: inNode('cluster status'),
  nodes: inNode('cluster nodes'),
  shards: inNode('cluster shards --trouble any'),
  secrets: 'kubectl get secrets',
  quota: 'kubectl describe resourcequota',
  operatorLog: 'kubectl -n quarry-system logs deployment/quarry-operator --tail=100',
  storageClasses: 'kubectl get storageclass',
  podMonitorKind: 'kubectl get crd podmonitors.monitoring.coreos.com',
  annotations: "kubectl get storecluster CLUSTER -o jsonpath='{.metadata.annotations}'",
} as const
