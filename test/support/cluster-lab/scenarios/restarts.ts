// F12, F17, F18 and F24: nodes that end in order, and nodes that come back as others or as what they were.

import { FAILOVER_LIMIT_MS, pauseFor, type Scenario, type Stage } from './scenario.ts'

const REPLACED_LIMIT_MS = 120_000

export const RESTARTS: readonly Scenario[] = [
  {
    id: 'F17',
    title: 'all nodes are restarted in order (SIGTERM), one after the other',
    holds: 'each ends with 0 within its time',
    run: rollingRestart,
  },
  {
    id: 'F12',
    title: 'a node is killed, its data directory deleted, and it starts again',
    holds: 'it is a new node; the old one is replaced by a decommission; all shards are whole',
    run: lostDisk,
  },
  {
    id: 'F18',
    title: 'a node comes back with another address and an empty disk',
    holds: 'requests find it; the old one is replaced by a decommission',
    run: movedNode,
  },
  {
    id: 'F24',
    title: 'the volume of a leader goes back to a snapshot, and it starts again',
    holds: 'nothing that was acknowledged is lost; all shards are whole',
    run: async (stage) => volumeBack(stage, 'one'),
  },
  {
    id: 'F24b',
    title: 'the volume of a leader goes back to a snapshot, and all nodes start again',
    holds: 'nothing that was acknowledged is lost; all shards are whole',
    run: async (stage) => volumeBack(stage, 'all'),
  },
]

async function rollingRestart(stage: Stage): Promise<void> {
  for (const node of stage.lab.nodes) {
    const { exitCode, signal, log } = await node.stop()
    if (exitCode !== 0) stage.finding('F17', `${node.name} ended by ${exitCode ?? signal}: ${log}`)
    await node.start()
    await stage.lab.untilInSync(REPLACED_LIMIT_MS)
    stage.note(`restarted ${node.name}; writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
  }
}

async function lostDisk(stage: Stage): Promise<void> {
  const node = await stage.lab.leader()
  const id = await node.id()
  await node.kill()
  await node.deleteData()
  stage.note(`${node.name} has lost its disk`)
  await pauseFor(stage.lab.between(0, 15_000))
  await node.start()
  await replaced(stage, id)
}

async function movedNode(stage: Stage): Promise<void> {
  const { lab } = stage
  const node = await lab.leader()
  const id = await node.id()
  await node.kill()
  await node.deleteData()
  const machine = await lab.network.addMachine(node.name)
  node.moveTo(machine)
  stage.note(`${node.name} is at ${machine.address} now`)
  await node.start()
  await replaced(stage, id)
}

/** The snapshot is of a moment at which the process runs, as a volume's is. */
async function volumeBack(stage: Stage, restarted: 'one' | 'all'): Promise<void> {
  const { lab } = stage
  const node = await lab.leader()
  node.pause()
  await node.copyData()
  node.resume()
  stage.note(
    `a snapshot of ${node.name}; writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`,
  )
  await pauseFor(lab.between(1000, 10_000))
  const nodes = restarted === 'all' ? lab.nodes : [node]
  await Promise.all(nodes.map((one) => one.kill()))
  await node.restoreData()
  stage.note(`${node.name} is what it was`)
  await Promise.all(nodes.map((one) => one.start()))
  await lab.untilInSync(REPLACED_LIMIT_MS)
  stage.note(`writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
}

async function replaced(stage: Stage, id: string): Promise<void> {
  await decommissioned(stage, id)
  await stage.lab.untilInSync(REPLACED_LIMIT_MS)
  stage.note('all shards are whole again')
}

/** The node with this id will not come back: others get its replicas. */
export async function decommissioned(stage: Stage, id: string): Promise<void> {
  await stage.progress(FAILOVER_LIMIT_MS)
  for (let attempt = 0; ; attempt++) {
    const path = `/api/v1/cluster/nodes/${id}/decommission`
    const answer = await stage.lab.ask({ method: 'POST', path, timeoutMs: 30_000 })
    if (answer.kind === 'ok') break
    if (attempt >= 20) throw new Error(`no decommission of ${id}: ${JSON.stringify(answer)}`)
    await pauseFor(1000)
  }
}
