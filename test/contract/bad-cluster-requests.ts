// Bad input for the operations of a cluster, and for what a table may ask of one: everywhere, in swarm mode, and in a
// cluster of three nodes.

import type { Sent } from './api-harness.ts'

export type Row = readonly [
  name: string,
  sent: Omit<Sent, 'method'> & { method?: string },
  code: string,
  message?: RegExp,
]

const T = '/api/v1/tables'
const C = '/api/v1/cluster'
const SPLIT_KEYS_256 = Array.from({ length: 256 }, (_, i) => String(1000 + i))
const SHARD = `${C}/shards/9f3c2a1700000001`

export const BAD_CLUSTER_REQUESTS: Readonly<Record<string, readonly Row[]>> = {
  'createTable with replicas': [
    ['no replicas', { path: `${T}/new`, body: '{"replication_factor":0}' }, 'INVALID_ARGUMENT'],
    ['eight replicas', { path: `${T}/new`, body: '{"replication_factor":8}' }, 'INVALID_ARGUMENT'],
    [
      'more in sync than there are',
      { path: `${T}/new`, body: '{"replication_factor":1,"min_in_sync":2}' },
      'INVALID_ARGUMENT',
    ],
  ],
  listShards: [
    ['an unknown table', { method: 'GET', path: `${C}/shards?table=none` }, 'NOT_FOUND'],
    ['an unknown trouble', { method: 'GET', path: `${C}/shards?trouble=x` }, 'INVALID_ARGUMENT'],
    ['no shards', { method: 'GET', path: `${C}/shards?limit=0` }, 'INVALID_ARGUMENT'],
    ['1001 shards', { method: 'GET', path: `${C}/shards?limit=1001` }, 'INVALID_ARGUMENT'],
    ['half a shard', { method: 'GET', path: `${C}/shards?limit=1.5` }, 'INVALID_ARGUMENT'],
    ['an empty cursor', { method: 'GET', path: `${C}/shards?cursor=` }, 'INVALID_ARGUMENT'],
    ['a cursor of NUL', { method: 'GET', path: `${C}/shards?cursor=%00` }, 'INVALID_ARGUMENT'],
  ],
  'steering of nodes': [
    ['a slash in a node', { path: `${C}/nodes/a%2Fb/drain` }, 'INVALID_ARGUMENT'],
    ['a long node', { path: `${C}/nodes/${'n'.repeat(129)}/drain` }, 'INVALID_ARGUMENT'],
    ['an unknown wish', { path: `${C}/nodes/node/destroy` }, 'NOT_FOUND'],
    [
      'an operation without a name',
      { path: `${C}/nodes/node/drain`, body: '{"operation_id":""}' },
      'INVALID_ARGUMENT',
      /operation_id/,
    ],
    [
      'an operation with a long name',
      { path: `${C}/nodes/node/undrain`, body: `{"operation_id":"${'o'.repeat(129)}"}` },
      'INVALID_ARGUMENT',
      /operation_id/,
    ],
    [
      'an operation with a space',
      { path: `${C}/nodes/node/decommission`, body: '{"operation_id":"a b"}' },
      'INVALID_ARGUMENT',
      /operation_id/,
    ],
    [
      'an operation that is misspelt',
      { path: `${C}/nodes/node/drain`, body: '{"operationId":"a"}' },
      'INVALID_ARGUMENT',
      /operationId/,
    ],
    [
      'a hold of less than a second',
      { path: `${C}/nodes/node/hand-over`, body: '{"hold_ms":999}' },
      'INVALID_ARGUMENT',
      /hold_ms/,
    ],
    [
      'a hold of more than ten minutes',
      { path: `${C}/nodes/node/hand-over`, body: '{"hold_ms":600001}' },
      'INVALID_ARGUMENT',
      /hold_ms/,
    ],
    ['a wish by GET', { method: 'GET', path: `${C}/nodes/node/drain` }, 'METHOD_NOT_ALLOWED'],
  ],
  moveReplica: [
    ['no body', { path: `${SHARD}/move` }, 'INVALID_ARGUMENT'],
    ['no target', { path: `${SHARD}/move`, body: '{"from":"a"}' }, 'INVALID_ARGUMENT'],
    ['a number', { path: `${SHARD}/move`, body: '{"from":"a","to":1}' }, 'INVALID_ARGUMENT'],
    [
      'an unknown member',
      { path: `${SHARD}/move`, body: '{"from":"a","to":"b","x":1}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a shard that is none',
      { path: `${C}/shards/nine/move`, body: '{"from":"a","to":"b"}' },
      'INVALID_ARGUMENT',
    ],
  ],
  transferLeader: [
    ['no body', { path: `${SHARD}/transfer-leader` }, 'INVALID_ARGUMENT'],
    ['an empty node', { path: `${SHARD}/transfer-leader`, body: '{"to":""}' }, 'INVALID_ARGUMENT'],
  ],
}

export const BAD_SWARM_REQUESTS: Readonly<Record<string, readonly Row[]>> = {
  'createTable in swarm mode': [
    [
      'two replicas',
      { path: `${T}/new`, body: '{"replication_factor":2}' },
      'INVALID_ARGUMENT',
      /swarm mode/,
    ],
    [
      'more in sync than the one replica',
      { path: `${T}/new`, body: '{"min_in_sync":2}' },
      'INVALID_ARGUMENT',
    ],
    [
      '257 shards',
      { path: `${T}/new`, body: '{"num_shards":257}' },
      'INVALID_ARGUMENT',
      /num_shards must be from 1 to 256, not 257/,
    ],
    [
      '256 split keys',
      { path: `${T}/new`, body: JSON.stringify({ split_keys: SPLIT_KEYS_256 }) },
      'INVALID_ARGUMENT',
      /split_keys makes 257 shards, but a table of this store has at most 256/,
    ],
  ],
  'steering in swarm mode': [
    ['a drain', { path: `${C}/nodes/node/drain` }, 'INVALID_ARGUMENT', /swarm mode/],
    [
      'a drain by an operation',
      { path: `${C}/nodes/node/drain`, body: '{"operation_id":"a"}' },
      'INVALID_ARGUMENT',
      /swarm mode/,
    ],
  ],
}

/** To a cluster. No node of it has the id "node", and no shard is the ninth. */
export const BAD_STEERING: Readonly<Record<string, readonly Row[]>> = {
  'steering of what is not there': [
    ['a drain', { path: `${C}/nodes/node/drain` }, 'NOT_FOUND', /"node"/],
    ['the end of a drain', { path: `${C}/nodes/node/undrain` }, 'NOT_FOUND', /"node"/],
    ['a decommission', { path: `${C}/nodes/node/decommission` }, 'NOT_FOUND', /"node"/],
    ['a hand-over', { path: `${C}/nodes/node/hand-over` }, 'NOT_FOUND', /"node"/],
    [
      'a move',
      { path: `${SHARD}/move`, body: '{"from":"node","to":"b"}' },
      'NOT_FOUND',
      /9f3c2a1700000001/,
    ],
    [
      'another leader',
      { path: `${SHARD}/transfer-leader`, body: '{"to":"node"}' },
      'NOT_FOUND',
      /9f3c2a1700000001/,
    ],
  ],
}
