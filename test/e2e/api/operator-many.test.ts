// An operator that is started over many clusters: each gets a pass, and nothing is written but one apply of each wish.

import { expect } from 'chai'
import { AuditLog, describeEvent, isBy, isWrite } from '../support/audit-log.ts'
import { eventually } from '../support/eventually.ts'
import { kindNamed } from '../../../operator/children/child-kinds.ts'
import { OperatorProcess } from '../support/operator/operator-process.ts'
import { operatorUser } from '../support/operator/tested-operator.ts'
import { textsOf, recordOf } from '../support/operator/stored-fields.ts'
import { manifest, SINGLE_NODE } from '../support/store-clusters.ts'
import { useScene } from '../support/operator/use-scene.ts'

const CLUSTERS = Number(process.env['QUARRY_E2E_CLUSTERS'] ?? 20)
/** How often each is looked at, a minute apart, while its operator is measured. Nothing is judged by that. */
const QUIET_LOOKS = Number(process.env['QUARRY_E2E_QUIET_LOOKS'] ?? 0)
const MIB = 1024 * 1024

function show(text: string): void {
  process.stdout.write(`     ${CLUSTERS} clusters: ${text}\n`)
}

function mibOf({ told }: OperatorProcess): string {
  return `RSS ${Math.round(told.rss / MIB)} MiB`
}

describe('an operator over many clusters', function () {
  this.timeout(240_000 + QUIET_LOOKS * 120_000)

  const scene = useScene(import.meta.filename, { isStarted: false })
  const start = () => {
    const user = operatorUser(scene().namespace)
    return new OperatorProcess(scene().namespace, { user })
  }

  it('gives each a pass after a restart, and applies each wish once at most', async () => {
    scene().kubelet.hurries = false
    const first = start()
    const names = Array.from({ length: CLUSTERS }, (_, at) => `many-${at}`)
    await scene().namespace.apply(names.map((name) => manifest({ name, spec: SINGLE_NODE })))
    for (let turn = 0; turn < 3 && (await readyCount()) < CLUSTERS; turn++) {
      await eventually('all are ready', readyCount, (count) => count === CLUSTERS).catch(() => 0)
    }
    expect(await readyCount()).to.equal(CLUSTERS)
    await first[Symbol.asyncDispose]()
    const audit = new AuditLog(scene().namespace.tier.auditLog ?? '')
    const mark = await audit.mark()

    const beganMs = Date.now()
    await using second = start()
    await eventually(
      'each had a pass',
      async () => second.told.asked,
      (asked) => asked === CLUSTERS,
    )
    const tookMs = Date.now() - beganMs
    const { cpuMs } = second.told
    show(`each had a pass after ${tookMs} ms, ${cpuMs} ms of processor, ${mibOf(second)}`)

    const user = operatorUser(scene().namespace)
    const writes = (await audit.since(mark)).filter((one) => isBy(one, user) && isWrite(one))
    const counts = new Map<string, number>()
    for (const text of writes.map(describeEvent)) counts.set(text, (counts.get(text) ?? 0) + 1)
    expect(
      [...counts].filter(([text, count]) => count > 1 && !text.includes('/status')),
    ).to.deep.equal([])
    if (QUIET_LOOKS > 0) await showQuiet(second)
  })

  async function showQuiet(operator: OperatorProcess): Promise<void> {
    const began = { ...operator.told, atMs: Date.now() }
    const enough = began.looks + QUIET_LOOKS * CLUSTERS
    for (let turn = 0; turn < 2 * QUIET_LOOKS && operator.told.looks < enough; turn++) {
      await eventually(
        'each was looked at',
        async () => operator.told.looks,
        (looks) => looks >= enough,
      ).catch(() => 0)
    }
    const { looks, cpuMs } = operator.told
    const tookMs = Date.now() - began.atMs
    const cores = ((cpuMs - began.cpuMs) / tookMs).toFixed(4)
    show(`${looks - began.looks} looks in ${tookMs} ms, ${cores} cores, ${mibOf(operator)}`)
  }

  async function readyCount(): Promise<number> {
    const selection = {
      kind: kindNamed('StoreCluster'),
      namespace: scene().namespace.name,
      labelSelector: '',
    }
    const page = { limit: 1000, continueToken: '' }
    const { items } = await scene().api.list(selection, page, new AbortController().signal)
    return items.filter(({ status }) => {
      const { conditions } = recordOf(status)
      const all = Array.isArray(conditions) ? conditions.map(textsOf) : []
      return all.some((one) => one['type'] === 'Ready' && one['status'] === 'True')
    }).length
  }
})
