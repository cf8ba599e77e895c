// F4: packets that do not arrive.

import type { Machine } from '../lab-network.ts'
import { FAILOVER_LIMIT_MS, pauseFor, untilOver, type Scenario, type Stage } from './scenario.ts'

export const PARTITIONS: readonly Scenario[] = [
  {
    id: 'F4',
    title: 'two of five nodes with one member of etcd are cut off from the others',
    holds: 'the majority takes writes again',
    run: splitMajority,
  },
  {
    id: 'F4b',
    title: 'a leader is cut off from the other nodes and not from etcd',
    holds: 'it acknowledges nothing alone; nothing that was acknowledged is lost',
    run: leaderWithoutNodes,
  },
  {
    id: 'F4c',
    title: 'a leader is cut off from etcd and not from the other nodes',
    holds: 'writes go on',
    run: leaderWithoutEtcd,
  },
  {
    id: 'F4d',
    title: 'packets pass one way: a node hears the others, and nobody hears it',
    holds: 'the shards go on without it',
    run: oneWay,
  },
  {
    id: 'F4e',
    title: 'a ring: each node hears its two neighbours alone',
    holds: 'nothing is lost; writes are taken again at the end',
    run: ring,
  },
  {
    id: 'F4f',
    title: 'a node is cut off and joined again every second',
    holds: 'nothing is lost; writes are taken again at the end',
    run: flapping,
  },
  {
    id: 'F4g',
    title: 'links are cut one by one at random and come back in another order',
    holds: 'nothing is lost; writes are taken again at the end',
    run: swizzle,
  },
]

function othersThan({ lab }: Stage, machines: readonly Machine[]): readonly Machine[] {
  return lab.machines.filter((machine) => !machines.includes(machine))
}

function nodeMachines({ lab }: Stage): readonly Machine[] {
  return lab.nodes.map(({ machine }) => machine)
}

function etcdMachines({ lab }: Stage): readonly Machine[] {
  return lab.etcds.map(({ machine }) => machine)
}

async function splitMajority(stage: Stage): Promise<void> {
  const { lab } = stage
  const leader = await lab.leader()
  const second = lab.pick(lab.nodes.filter((node) => node !== leader))
  const minority = [leader.machine, second.machine, lab.pick(lab.etcds).machine]
  stage.note(`cuts off ${minority.map(({ name }) => name).join(', ')}`)
  await lab.network.split(minority, othersThan(stage, minority))
  await pauseFor(stage.lastsMs)
}

async function leaderWithoutNodes(stage: Stage): Promise<void> {
  const { lab } = stage
  const { name, machine } = await lab.leader()
  stage.note(`cuts ${name} off from the nodes`)
  const others = nodeMachines(stage).filter((one) => one !== machine)
  await lab.network.split([machine], others)
  await pauseFor(stage.lastsMs)
}

async function leaderWithoutEtcd(stage: Stage): Promise<void> {
  const { lab } = stage
  const { name, machine } = await lab.leader()
  stage.note(`cuts ${name} off from etcd`)
  await lab.network.split([machine], etcdMachines(stage))
  const isOver = untilOver(stage)
  while (!isOver()) await stage.progress(FAILOVER_LIMIT_MS)
}

async function oneWay(stage: Stage): Promise<void> {
  const { lab } = stage
  const { name, machine } = lab.pick(lab.nodes)
  stage.note(`nobody hears ${name}`)
  await lab.network.cut(othersThan(stage, [machine]).map((to) => ({ from: machine, to })))
  await pauseFor(stage.lastsMs)
}

async function ring(stage: Stage): Promise<void> {
  const machines = nodeMachines(stage)
  const { length } = machines
  const links = machines.flatMap((from, i) =>
    machines
      .filter((_, j) => ![0, 1, length - 1].includes((j - i + length) % length))
      .map((to) => ({ from, to })),
  )
  await stage.lab.network.cut(links)
  await pauseFor(stage.lastsMs)
}

async function flapping(stage: Stage): Promise<void> {
  const { lab } = stage
  const { name, machine } = await lab.leader()
  stage.note(`${name} comes and goes`)
  const isOver = untilOver(stage)
  while (!isOver()) {
    await lab.network.split([machine], othersThan(stage, [machine]))
    await pauseFor(1000)
    await lab.network.heal()
    await pauseFor(1000)
  }
}

async function swizzle(stage: Stage): Promise<void> {
  const { lab } = stage
  const isOver = untilOver(stage)
  while (!isOver()) {
    for (const node of lab.some(lab.nodes, 3)) {
      const to = lab.pick(lab.machines.filter((machine) => machine !== node.machine))
      const both = [
        { from: node.machine, to },
        { from: to, to: node.machine },
      ]
      await lab.network.cut(lab.random() < 0.5 ? both : both.slice(0, 1))
      await pauseFor(lab.between(100, 4000))
    }
    await lab.network.heal()
    await pauseFor(lab.between(100, 4000))
  }
}
