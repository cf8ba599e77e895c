import type { Env } from '../lib/env.ts'
import { LOG_LEVELS } from '../lib/log.ts'
import { choice, integer, list, port, readOptions, text } from '../lib/options.ts'
import type { ConfigOf, Flags, OptionTable } from '../lib/options.ts'
import { parseConfigFile } from '../lib/process/config-file.ts'
import type { ConfigFile } from '../lib/process/config-file.ts'

export const OPERATOR_OPTIONS = {
  watchNamespaces: {
    variable: 'QUARRY_OPERATOR_WATCH_NAMESPACES',
    flag: '<namespaces>',
    value: list(),
    defaultText: 'all',
    help: 'namespaces whose clusters are looked after, separated by commas',
  },
  leaseName: {
    variable: 'QUARRY_OPERATOR_LEASE_NAME',
    flag: '<name>',
    value: text(''),
    defaultText: 'none: for one process alone',
    help: "the Lease in the operator's own namespace by which several processes agree on a leader",
  },
  maxConcurrentRollouts: {
    variable: 'QUARRY_OPERATOR_MAX_CONCURRENT_ROLLOUTS',
    flag: '<count>',
    value: integer({ default: 2, min: 1, max: 1000 }),
    help: 'clusters whose pods are replaced at the same time',
  },
  nodeImage: {
    variable: 'QUARRY_OPERATOR_NODE_IMAGE',
    flag: '<image>',
    value: text('quarry'),
    help: 'the image of clusters that name none, without a tag',
  },
  inferenceImage: {
    variable: 'QUARRY_OPERATOR_INFERENCE_IMAGE',
    flag: '<image>',
    value: text('quarry-inference'),
    help: 'the image of inference servers of clusters that name none, without a tag',
  },
  etcdImage: {
    variable: 'QUARRY_OPERATOR_ETCD_IMAGE',
    flag: '<image>',
    value: text(''),
    defaultText: 'the one that this version was tested with',
    help: 'the image of the etcd of clusters that name none, with its tag',
  },
  healthHost: {
    variable: 'QUARRY_OPERATOR_HEALTH_HOST',
    flag: '<address>',
    value: text('127.0.0.1'),
    help: 'address to listen on for probes',
  },
  healthPort: {
    variable: 'QUARRY_OPERATOR_HEALTH_PORT',
    flag: '<port>',
    value: port(4202),
    help: 'port of probes; 0 takes a free one',
  },
  metricsHost: {
    variable: 'QUARRY_OPERATOR_METRICS_HOST',
    flag: '<address>',
    value: text('127.0.0.1'),
    help: 'address to listen on for collectors of metrics',
  },
  metricsPort: {
    variable: 'QUARRY_OPERATOR_METRICS_PORT',
    flag: '<port>',
    value: port(4203),
    help: 'port of metrics; 0 takes a free one',
  },
  logLevel: {
    variable: 'QUARRY_LOG_LEVEL',
    flag: '<level>',
    value: choice(LOG_LEVELS, 'info'),
    help: LOG_LEVELS.join(', '),
  },
} as const satisfies OptionTable

/** The options, and where the process runs. */
export interface OperatorConfig extends ConfigOf<typeof OPERATOR_OPTIONS> {
  /** Differs from that of every other process: another start of the same pod is another candidate. */
  readonly podName: string
  /** Where the Lease is, and from where nodes are asked. */
  readonly podNamespace: string
}

/** Throws a ConfigurationError that names each wrong value. */
export function parseOperatorConfig(env: Env, flags: Flags, file?: ConfigFile): OperatorConfig {
  const options = readOptions(OPERATOR_OPTIONS, {
    env,
    flags,
    file: file && parseConfigFile(file, OPERATOR_OPTIONS),
  })
  return {
    ...options,
    podName: env['POD_NAME'] ?? 'quarry-operator',
    podNamespace: env['POD_NAMESPACE'] ?? 'default',
  }
}
