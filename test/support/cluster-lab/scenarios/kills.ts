// F1, F2 and F14: SIGKILL.

import {
  FAILOVER_LIMIT_MS,
  killAndStart,
  pauseFor,
  untilOver,
  type Scenario,
  type Stage,
} from './scenario.ts'

export const KILLS: readonly Scenario[] = [
  {
    id: 'F1',
    title: 'a leader is killed every few seconds',
    holds: 'another one leads, and writes are acknowledged again',
    run: killLeaders,
  },
  {
    id: 'F1b',
    title: 'leaders are killed one after the other before the last one is back',
    holds: 'logs that diverged become one again',
    run: killInTurns,
  },
  {
    id: 'F2',
    title: 'all nodes are killed at once, again and again',
    holds: 'everything acknowledged is there after each start',
    run: killAll,
  },
  {
    id: 'F2b',
    title: 'random groups of nodes are killed at once',
    holds: 'everything acknowledged is there after each start',
    run: killGroups,
  },
]

async function killLeaders(stage: Stage): Promise<void> {
  const isOver = untilOver(stage)
  while (!isOver()) {
    const leader = await stage.lab.leader()
    stage.note(`kills ${leader.name}`)
    await killAndStart(leader, stage, stage.lab.between(0, 8000))
    stage.note(`writes again after ${await stage.progress(FAILOVER_LIMIT_MS)} ms`)
    await pauseFor(stage.lab.between(0, 3000))
  }
}

async function killInTurns(stage: Stage): Promise<void> {
  const { lab } = stage
  const isOver = untilOver(stage)
  while (!isOver()) {
    const first = await lab.leader()
    await first.kill()
    await pauseFor(lab.between(0, 12_000))
    const second = await lab.leader()
    stage.note(`kills ${first.name}, then ${second.name}`)
    await Promise.all([killAndStart(second, stage, lab.between(0, 3000)), first.start()])
    await stage.progress(FAILOVER_LIMIT_MS)
  }
}

async function killAll(stage: Stage): Promise<void> {
  const isOver = untilOver(stage)
  while (!isOver()) {
    await killMany(stage, stage.lab.nodes.length)
    await stage.progress(2 * FAILOVER_LIMIT_MS)
    await pauseFor(stage.lab.between(0, 3000))
  }
}

async function killGroups(stage: Stage): Promise<void> {
  const isOver = untilOver(stage)
  while (!isOver()) {
    await killMany(stage, 2 + Math.floor(stage.lab.random() * 3))
    await stage.progress(2 * FAILOVER_LIMIT_MS)
    await pauseFor(stage.lab.between(0, 2000))
  }
}

async function killMany(stage: Stage, count: number): Promise<void> {
  const { lab } = stage
  const nodes = lab.some(lab.running, count)
  stage.note(`kills ${nodes.map(({ name }) => name).join(', ')}`)
  await Promise.all(nodes.map((node) => node.kill()))
  if (lab.random() < 0.25) {
    await Promise.all(nodes.map((node) => node.startAndKill(lab.between(300, 5000))))
  }
  await Promise.all(nodes.map((node) => node.start()))
}
