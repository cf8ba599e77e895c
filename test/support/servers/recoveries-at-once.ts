// Operators who recover a cluster at the same time: by its nodes, which wait, and past them.

import { expect } from 'chai'
import { isServiceError } from '../../../lib/errors.ts'
import { parseEtcdConfig } from '../../../node/cluster-config.ts'
import { recoverControlPlane } from '../../../node/recover-control-plane.ts'
import type { EtcdCluster } from '../processes/etcd-cluster.ts'
import { until } from '../until.ts'

/** Undefined while nobody listens. */
export async function send(url: string, body: object = {}) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  }).catch(() => undefined)
  return answer && { status: answer.status, body: JSON.parse(await answer.text()) }
}

/** Resolves when the node waits: it answers nothing else, and says what ends the wait. */
export async function untilWaiting(api: string | undefined): Promise<void> {
  await until(async () => {
    const refused = await send(`${api}/transactions/commit`)
    if (refused === undefined) return false
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'UNAVAILABLE'])
    expect(refused.body.error).to.match(/cluster recover/)
    return true
  })
}

/** How many of them were performed: one by each of these nodes, and two past all nodes. */
export async function recoveriesAtOnce(
  apis: readonly (string | undefined)[],
  etcd: EtcdCluster,
): Promise<number> {
  const answers = [...apis.map(recoverByNode), recoverInEtcd(etcd), recoverInEtcd(etcd)]
  const performed = (await Promise.all(answers)).filter(Boolean).length
  expect(performed, 'performed at once').to.be.at.most(1)
  return performed
}

async function recoverByNode(api: string | undefined): Promise<boolean> {
  const answer = await send(`${api}/cluster/recover`)
  if (answer?.status !== 409) {
    expect([undefined, 200]).to.include(answer?.status)
    return answer?.body.performed === true
  }
  expectMissing(answer.body.code, answer.body.error)
  return false
}

async function recoverInEtcd(etcd: EtcdCluster): Promise<boolean> {
  const config = parseEtcdConfig({}, { cluster: 'test', etcd: etcd.directEndpoints.join(',') })
  try {
    return (await recoverControlPlane(config, [])).performed
  } catch (error) {
    if (!isServiceError(error)) throw error
    expectMissing(error.code, error.message)
    return false
  }
}

function expectMissing(code: string, message: string): void {
  expect(code).to.equal('CONFLICT')
  expect(message).to.match(/have not reported/)
}
