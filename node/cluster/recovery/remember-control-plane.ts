import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { ShardPath } from '../../controller/core/records/cluster-codec.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { ClusterMap } from '../cluster-map.ts'
import type { ControlPlaneMemory } from './control-plane-memory.ts'

/** What was seen less than this ago may be forgotten by the end of the process. */
const REMEMBER_MS = 1000

/** What is remembered, and where. */
export interface Remembering {
  readonly map: ClusterMap
  readonly memory: ControlPlaneMemory
  readonly nodeId: NodeId
  readonly clock: Clock
  readonly log: Log
}

/**
 * Keeps on disk what the map sees of the control plane: its newest revision, the configurations of shards that this node
 * holds replicas of, and that it went back. Answers how to stop.
 */
export function rememberControlPlane(options: Remembering): () => Promise<void> {
  const { map, memory, clock } = options
  const changed = new Set<ShardPath>(map.shards().keys())
  const stopListening = map.onChange((change) => {
    if (change.kind === 'configuration') changed.add(change.path)
  })
  const known: { paths?: Set<ShardPath> } = {}
  const stop = clock.every(REMEMBER_MS, () => remember(options, changed, known))
  return async () => {
    stopListening()
    await stop()
    if (map.health.kind !== 'frozen') await memory.see({ revision: map.seenRevision })
  }
}

async function remember(
  { map, memory, nodeId, log }: Remembering,
  changed: Set<ShardPath>,
  remembered: { paths?: Set<ShardPath> },
): Promise<void> {
  try {
    const { health } = map
    if (health.kind === 'frozen') return await memory.refuse(health.reason)
    remembered.paths ??= new Set((await memory.configurations()).keys())
    const known = remembered.paths
    for (const path of changed) {
      // Before it is read: a change that comes while it is written is another one.
      changed.delete(path)
      await rememberPath(path, { map, memory, nodeId, known }).catch((error: unknown) => {
        changed.add(path)
        throw error
      })
    }
    await memory.see({ revision: map.seenRevision })
  } catch (error) {
    log.warn('the newest of the control plane is not remembered', { reason: messageOf(error) })
  }
}

async function rememberPath(
  path: ShardPath,
  {
    map,
    memory,
    nodeId,
    known,
  }: Pick<Remembering, 'map' | 'memory' | 'nodeId'> & { readonly known: Set<ShardPath> },
): Promise<void> {
  const configuration = map.configurationOf(path)
  const isHere = configuration?.replicas.includes(nodeId) === true
  if (isHere || known.has(path)) await memory.remember(path, isHere ? configuration : undefined)
  if (isHere) known.add(path)
  else known.delete(path)
}
