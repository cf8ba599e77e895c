// F5: links that are slow, lose packets, or break in the middle of a request.

import { SlowDoor } from '../slow-door.ts'
import { FAILOVER_LIMIT_MS, pauseFor, untilOver, type Scenario, type Stage } from './scenario.ts'

export const LINKS: readonly Scenario[] = [
  {
    id: 'F5',
    title: 'clients reach the nodes by slow links that break in the middle',
    holds: 'a retry under its idempotency key has one effect',
    run: slowDoors,
    undo: closeDoors,
  },
  {
    id: 'F5b',
    title: 'nodes lose 1 to 20 % of their packets',
    holds: 'nothing is lost; writes are taken again at the end',
    run: lossyNodes,
  },
]

const doors = new WeakMap<Stage, SlowDoor[]>()

async function slowDoors(stage: Stage): Promise<void> {
  const { lab } = stage
  const opened: SlowDoor[] = []
  doors.set(stage, opened)
  for (const node of lab.nodes) {
    const { hostname: host, port } = new URL(node.process.api)
    const delayMsMax = lab.pick([10, 100, 500])
    const options = { host, port: Number(port), random: lab.random, delayMsMax }
    const door = await SlowDoor.open({ ...options, breaks: lab.between(2, 10) })
    opened.push(door)
    node.door = door.url
  }
  await pauseFor(stage.lastsMs)
}

async function closeDoors(stage: Stage): Promise<void> {
  for (const node of stage.lab.nodes) node.door = undefined
  for (const door of doors.get(stage) ?? []) door.close()
}

async function lossyNodes(stage: Stage): Promise<void> {
  const { lab } = stage
  const isOver = untilOver(stage)
  while (!isOver()) {
    for (const { name, machine } of lab.some(lab.nodes, 2)) {
      const ratio = lab.between(1, 20) / 100
      stage.note(`${name} loses ${ratio * 100} %`)
      await lab.network.lose(machine, ratio)
    }
    await pauseFor(lab.between(5000, 10_000))
    await lab.network.heal()
  }
  await stage.progress(FAILOVER_LIMIT_MS)
}
