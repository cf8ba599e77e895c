// F6: the control plane is away, or changes its leader again and again.

import { LabClient } from '../lab-client.ts'
import { FAILOVER_LIMIT_MS, pauseFor, untilOver, type Scenario, type Stage } from './scenario.ts'

const TABLE = '/api/v1/tables/while-etcd-is-away'
const ADMIN_TIMEOUT_MS = 60_000

export const ETCD_FAULTS: readonly Scenario[] = [
  {
    id: 'F6',
    title: 'all members of etcd are killed, and stay away',
    holds: 'reads and writes continue without one failure; a new table is refused with 503',
    run: outage,
  },
  {
    id: 'F6b',
    title: 'etcd loses its majority',
    holds: 'reads and writes continue',
    run: quorumLoss,
  },
  {
    id: 'F6c',
    title: 'the leader of etcd is killed again and again',
    holds: 'writes continue; at worst there are elections',
    run: leaderStorm,
  },
  {
    id: 'F6d',
    title: 'leases are revoked before their time',
    holds: 'elections at worst',
    run: revokedLeases,
  },
]

async function outage(stage: Stage): Promise<void> {
  const { lab } = stage
  // Its requests are to fail, those of the other clients are not.
  using admin = new LabClient()
  const before = new Map(lab.client.failures)
  const { ok } = lab.client.outcomes
  await Promise.all(lab.etcds.map(({ process }) => process.kill()))
  const isOver = untilOver(stage)
  let refusals = 0
  while (!isOver() || refusals === 0) {
    await stage.progress(FAILOVER_LIMIT_MS)
    if (await isRefused(stage, admin)) refusals += 1
    await pauseFor(1000)
  }
  for (const [failure, count] of lab.client.failures) {
    const more = count - (before.get(failure) ?? 0)
    if (more > 0) stage.finding('F6', `${more} requests failed while etcd was away: ${failure}`)
  }
  stage.note(`${lab.client.outcomes.ok - ok} requests succeeded; ${refusals} tables refused`)
}

/** Whether a new table was refused with 503. No answer at all is a busy machine's. */
async function isRefused(stage: Stage, admin: LabClient): Promise<boolean> {
  const request = { method: 'POST', path: TABLE, body: {}, timeoutMs: ADMIN_TIMEOUT_MS } as const
  const answer = await admin.ask(stage.lab.pick(stage.lab.nodes).process.api, request)
  if (answer.kind === 'unknown' && answer.isSilent) return false
  const isRight = answer.kind === 'unknown' && answer.why.startsWith('503 ')
  if (!isRight) stage.finding('F6', `a new table was answered by ${JSON.stringify(answer)}`)
  return true
}

async function quorumLoss(stage: Stage): Promise<void> {
  const { lab } = stage
  await Promise.all(lab.some(lab.etcds, 2).map(({ process }) => process.kill()))
  const isOver = untilOver(stage)
  while (!isOver()) {
    await stage.progress(FAILOVER_LIMIT_MS)
    await pauseFor(1000)
  }
}

async function leaderStorm(stage: Stage): Promise<void> {
  const isOver = untilOver(stage)
  while (!isOver()) {
    for (const etcd of stage.lab.etcds) {
      if (!(await etcd.leads())) continue
      stage.note(`kills ${etcd.name}`)
      await etcd.process.kill()
      await pauseFor(stage.lab.between(500, 3000))
      await etcd.process.start()
    }
    await pauseFor(stage.lab.between(1000, 5000))
  }
  await stage.progress(FAILOVER_LIMIT_MS)
}

async function revokedLeases(stage: Stage): Promise<void> {
  const isOver = untilOver(stage)
  while (!isOver()) {
    const etcd = stage.lab.pick(stage.lab.etcds)
    const listed = await post(`${etcd.endpoint}/v3/lease/leases`, {})
    const leases: readonly { readonly ID: string }[] = listed.leases ?? []
    if (leases.length > 0) {
      const { ID } = stage.lab.pick(leases)
      stage.note(`revokes the lease ${ID} of ${leases.length}`)
      await post(`${etcd.endpoint}/v3/lease/revoke`, { ID })
    }
    await pauseFor(stage.lab.between(500, 5000))
  }
  await stage.progress(FAILOVER_LIMIT_MS)
}

async function post(url: string, body: unknown) {
  const signal = AbortSignal.timeout(10_000)
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal })
  return JSON.parse(await answer.text())
}
