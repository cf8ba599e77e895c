// What a node that runs would know of the control plane if it were killed now.

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { ControlPlaneMemory } from '../../../node/cluster/recovery/control-plane-memory.ts'
import { EmbeddedCoordination } from '../../../node/coordination/embedded-coordination.ts'
import type { ShardConfiguration } from '../../../node/replication/core/configuration.ts'
import { LevelKvStore } from '../../../node/storage/level-kv-store.ts'
import type { TestNode } from './node-processes.ts'

/** Read from a copy, as of its volume: the process stands still meanwhile. */
export async function rememberedBy(node: TestNode): Promise<readonly ShardConfiguration[]> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-remembered-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(directory, { recursive: true }))
  const copy = path.join(directory, 'catalog')
  const { pid } = must(node.process, 'its process')
  process.kill(pid, 'SIGSTOP')
  await cp(path.join(node.dataDir, 'catalog'), copy, { recursive: true })
  process.kill(pid, 'SIGCONT')
  const store = await LevelKvStore.open(copy, { clock: systemClock })
  stack.defer(() => store.close())
  const memory = await ControlPlaneMemory.open(new EmbeddedCoordination(store, systemClock))
  return [...(await memory.configurations()).values()]
}
