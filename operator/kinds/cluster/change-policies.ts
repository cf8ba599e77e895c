// How a cluster changes: one step after another, and how long each may take.

import { Type } from 'typebox'
import { choice, flag, integer, object } from '../schema/fields.ts'
import { NODES_MAX } from './node-pool.ts'

const TIMEOUT_MAX_SECONDS = 86_400

export const podDisruptionBudget = object(
  'How many nodes may be evicted at a time, as when Kubernetes nodes are drained. Not made for one node.',
  {
    enabled: flag('Whether a PodDisruptionBudget is made.', true),
    maxUnavailable: Type.Unsafe<number | string>({
      description: 'How many nodes, or how many percent of them, may be away by evictions.',
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      default: 1,
      maxLength: 4,
      pattern: '^(100|[1-9]?[0-9])%$',
      'x-kubernetes-int-or-string': true,
    }),
  },
  { default: {} },
)

export const updateStrategy = object(
  'How nodes are restarted for a new version, new options or new secrets.',
  {
    type: choice(
      ['Rolling', 'Paused'],
      'Whether nodes are restarted one after another, or wait until this is Rolling again.',
      'Rolling',
    ),
    maxUnavailable: integer(
      'How many nodes may be away by a restart; never more than leave a majority.',
      { min: 1, max: NODES_MAX / 2, default: 1 },
    ),
    minReadySeconds: integer('How long a restarted node is ready before the next one follows.', {
      min: 0,
      max: 3600,
      default: 10,
    }),
    podTimeoutSeconds: integer(
      'How long a restarted node may take to be ready before the cluster is called stalled.',
      { min: 30, max: TIMEOUT_MAX_SECONDS, default: 900 },
    ),
    requireHealthy: flag(
      'Whether restarts wait for a healthy cluster; false: a degraded one is enough if no shard lacks replicas.',
      true,
    ),
  },
  { default: {} },
)

export const scaleDown = object(
  'How nodes leave the cluster.',
  {
    stallTimeoutSeconds: integer(
      'How long the emptying of a node may make no progress before the cluster is called stalled; the emptying continues.',
      { min: 60, max: TIMEOUT_MAX_SECONDS, default: 1800 },
    ),
  },
  { default: {} },
)

export const scaleUp = object(
  'How nodes join the cluster.',
  {
    maxConcurrent: integer('How many nodes join at a time.', {
      min: 1,
      max: NODES_MAX,
      default: 1,
    }),
  },
  { default: {} },
)

export const claimRetention = object(
  'What happens to the volumes of nodes.',
  {
    whenDeleted: choice(
      ['Retain', 'Delete'],
      'Whether volumes are kept when the cluster is deleted. A cluster of the same name finds its documents again.',
      'Retain',
    ),
    whenScaled: choice(
      ['Retain', 'Delete'],
      'Whether the volume of a node that left the cluster is kept.',
      'Retain',
    ),
  },
  { default: {} },
)
