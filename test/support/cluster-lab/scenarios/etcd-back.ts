// F25: the control plane goes back to what it was some time before, all members of etcd, as by a restore from a backup.

import { messageOf } from '../../../../lib/errors.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { parseEtcdConfig } from '../../../../node/cluster-config.ts'
import { recoverControlPlane } from '../../../../node/recover-control-plane.ts'
import type { LabNode } from '../lab-node.ts'
import { FAILOVER_LIMIT_MS, pauseFor, type Scenario, type Stage } from './scenario.ts'

const WHOLE_LIMIT_MS = 120_000
const RECOVERY_LIMIT_MS = 300_000
const RETRY_MS = 1000

/** Which nodes start again while etcd is old. The operator has the others start again before the recovery. */
type Restarted = 'all' | 'one' | 'none'

const TITLES: Readonly<Record<Restarted, string>> = {
  all: 'etcd goes back to a backup, and all nodes start again',
  one: 'etcd goes back to a backup, and one node starts again before the others do',
  none: 'etcd goes back to a backup under nodes that run; they serve on, and start again later',
}

export const ETCD_BACK: readonly Scenario[] = [
  rowOf('F25', 'all'),
  rowOf('F25b', 'one'),
  rowOf('F25c', 'none'),
]

function rowOf(id: string, restarted: Restarted): Scenario {
  return {
    id,
    title: TITLES[restarted],
    holds: 'nothing that was acknowledged is lost; after a recovery all shards are whole',
    run: (stage) => planeBack(stage, restarted),
  }
}

async function planeBack(stage: Stage, restarted: Restarted): Promise<void> {
  const { lab } = stage
  await backUp(stage)
  // Epochs are given out after the backup that etcd will have forgotten.
  const node = await lab.leader()
  await node.kill()
  stage.note(`${node.name} is killed; writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
  await node.start()
  await lab.untilInSync(WHOLE_LIMIT_MS)
  await pauseFor(lab.between(1000, 10_000))

  const choices: Readonly<Record<Restarted, readonly LabNode[]>> = {
    all: lab.nodes,
    one: [node],
    none: [],
  }
  const first = choices[restarted]
  await Promise.all(first.map((one) => one.kill()))
  await goBack(stage)
  const starts = first.map((one) => startIn(stage, one))
  if (restarted === 'none') {
    stage.note(`nodes serve on: writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
  }
  await pauseFor(lab.between(5000, 15_000))
  const others = lab.nodes.filter((one) => !first.includes(one))
  await Promise.all(others.map((one) => one.kill()))
  const all = [...starts, ...others.map((one) => startIn(stage, one))]
  await recover(stage)
  await Promise.all(all)
  await lab.untilInSync(WHOLE_LIMIT_MS)
  stage.note(`writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
}

/** A node that refuses etcd serves only after the recovery. */
async function startIn(stage: Stage, node: LabNode): Promise<void> {
  await node.start().catch((error: unknown) => {
    stage.finding('F25', `${node.name} does not start: ${messageOf(error)}`)
  })
}

/** All members at one moment. */
async function backUp(stage: Stage): Promise<void> {
  const { etcds } = stage.lab
  for (const { process } of etcds) process.signal('SIGSTOP')
  await Promise.all(etcds.map((etcd) => etcd.copyData()))
  for (const { process } of etcds) process.signal('SIGCONT')
  stage.note(`a backup of etcd; writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
}

async function goBack(stage: Stage): Promise<void> {
  const { etcds } = stage.lab
  await Promise.all(etcds.map(({ process }) => process.kill()))
  await Promise.all(etcds.map((etcd) => etcd.restoreData()))
  await Promise.all(etcds.map(({ process }) => process.start()))
  stage.note('etcd is what it was')
}

/** As an operator does: nothing is done until a node waits, and it is refused until each node has reported. */
async function recover(stage: Stage): Promise<void> {
  const etcd = stage.lab.etcds.map(({ endpoint }) => endpoint).join(',')
  const config = parseEtcdConfig({}, { cluster: 'lab', etcd })
  const endMs = systemClock.monotonicMs() + RECOVERY_LIMIT_MS
  for (;;) {
    try {
      const {
        performed,
        recovery,
        shard_count: shards,
        reported,
      } = await recoverControlPlane(config, [])
      const counts = `${shards} shards, as ${reported.length} nodes reported them`
      if (performed) return stage.note(`recovery ${recovery}: ${counts}`)
      if (systemClock.monotonicMs() > endMs) throw new Error('no node waits before the old etcd')
    } catch (error) {
      if (systemClock.monotonicMs() > endMs) throw error
    }
    await pauseFor(RETRY_MS)
  }
}
