// Who reaches a cluster: the Service of its clients, the NetworkPolicy, and what collects its metrics.

import {
  annotations,
  choice,
  flag,
  integer,
  labels,
  object,
  optional,
  set,
  text,
} from '../schema/fields.ts'
import type { Rule } from '../schema/fields.ts'
import { cidr, egressRules, peers, PORT_MAX } from '../core/network.ts'
import { ownedKeysRule } from './owned-names.ts'

const SOURCE_RANGES_MAX = 64

const SERVICE_RULES: readonly Rule[] = [
  {
    rule: "self.type == 'LoadBalancer' || !has(self.loadBalancerClass)",
    message:
      'spec.clientService.loadBalancerClass can be set only when spec.clientService.type is LoadBalancer',
  },
  {
    rule: "self.type == 'LoadBalancer' || !has(self.loadBalancerSourceRanges)",
    message:
      'spec.clientService.loadBalancerSourceRanges can be set only when spec.clientService.type is LoadBalancer',
  },
]

export const clientService = object(
  'The Service by which clients reach the cluster. There always is one.',
  {
    type: choice(
      ['ClusterIP', 'NodePort', 'LoadBalancer'],
      'From where clients reach the Service.',
      'ClusterIP',
    ),
    port: integer('The port of the Service.', { min: 1, max: PORT_MAX, default: 8080 }),
    annotations: optional(
      annotations('Further annotations of the Service.', [
        ownedKeysRule('spec.clientService.annotations'),
      ]),
    ),
    labels: optional(
      labels('Further labels of the Service.', [ownedKeysRule('spec.clientService.labels')]),
    ),
    loadBalancerClass: optional(text('Which kind of load balancer is made.', { max: 253, min: 1 })),
    loadBalancerSourceRanges: optional(
      set(
        'Ranges of addresses from which the load balancer may be reached.',
        cidr('A range, such as 192.0.2.0/24.'),
        { max: SOURCE_RANGES_MAX },
      ),
    ),
  },
  { rules: SERVICE_RULES, default: {} },
)

export const networkPolicy = object(
  'Who may connect to the pods, where the network enforces NetworkPolicies.',
  {
    enabled: flag('Whether NetworkPolicies are made.', true),
    clientFrom: optional(
      peers('Who may use the API; absent: every pod of the namespace; empty: nobody besides.'),
    ),
    metricsFrom: optional(
      peers(
        'Who may read metrics; absent: every pod of the Kubernetes cluster; empty: nobody besides.',
      ),
    ),
    extraEgress: optional(
      egressRules(
        'Where nodes may connect besides the cluster itself and DNS; absent: everywhere, such as models elsewhere.',
      ),
    ),
  },
  { default: {} },
)

export const monitoring = object(
  'What collects metrics of the cluster.',
  {
    podMonitor: object(
      'A PodMonitor for Prometheus. Without that kind in the Kubernetes cluster there is none, and a condition says so.',
      {
        enabled: flag('Whether a PodMonitor is made.', false),
        intervalSeconds: integer('How often metrics are read.', { min: 5, max: 3600, default: 30 }),
        labels: optional(
          labels('Further labels of the PodMonitor, by which Prometheus selects it.', [
            ownedKeysRule('spec.monitoring.podMonitor.labels'),
          ]),
        ),
      },
      { default: {} },
    ),
  },
  { default: {} },
)
