// F3 and a part of F16: processes that stand still and come back.

import { FAILOVER_LIMIT_MS, pauseFor, untilOver, type Scenario, type Stage } from './scenario.ts'

export const PAUSES: readonly Scenario[] = [
  {
    id: 'F3',
    title: 'a leader is stopped by SIGSTOP for up to three leases, and continues',
    holds: 'writes go on meanwhile; what it says afterwards is neither stale nor a second truth',
    run: pauseLeaders,
  },
  {
    id: 'F3b',
    title: 'random nodes stand still for moments, several at a time',
    holds: 'no read is stale',
    run: pauseSome,
  },
  {
    id: 'F3c',
    title: 'the leader of etcd stands still',
    holds: 'writes go on',
    run: pauseEtcdLeader,
  },
]

async function pauseLeaders(stage: Stage): Promise<void> {
  const { lab } = stage
  const isOver = untilOver(stage)
  while (!isOver()) {
    const leader = await lab.leader()
    const pauseMs = lab.pick([2000, 6000, 14_000, 30_000])
    stage.note(`stops ${leader.name} for ${pauseMs} ms`)
    leader.pause()
    await pauseFor(pauseMs)
    leader.resume()
    stage.note(`writes again after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
  }
}

async function pauseSome(stage: Stage): Promise<void> {
  const { lab } = stage
  const isOver = untilOver(stage)
  while (!isOver()) {
    const nodes = lab.some(lab.nodes, 1 + Math.floor(lab.random() * 3))
    for (const node of nodes) node.pause()
    await pauseFor(lab.between(300, 5000))
    for (const node of nodes) node.resume()
    await pauseFor(lab.between(200, 3000))
  }
  await stage.progress(FAILOVER_LIMIT_MS)
}

async function pauseEtcdLeader(stage: Stage): Promise<void> {
  const { lab } = stage
  for (const etcd of lab.etcds) {
    if (!(await etcd.leads())) continue
    stage.note(`stops ${etcd.name}`)
    etcd.process.signal('SIGSTOP')
    await pauseFor(lab.between(5000, 15_000))
    stage.note(`writes after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
    etcd.process.signal('SIGCONT')
    return
  }
  stage.note('no member of etcd leads')
}
