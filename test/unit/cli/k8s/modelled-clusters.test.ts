// What people see of clusters as the operator's machines really tell them: a modelled cluster after each disturbance.

import { expect } from 'chai'
import { buildReport } from '../../../../cli/k8s/cluster-report.ts'
import type { ClusterReport } from '../../../../cli/k8s/cluster-report.ts'
import { describeReport } from '../../../../cli/k8s/report-view.ts'
import { textWidth } from '../../../../cli/render/text-width.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { adviceFor } from '../../../../operator/handbook/conditions/advice-for.ts'
import { isKnownEvent } from '../../../../operator/handbook/events.ts'
import { OPERATIONS } from '../../../../operator/handbook/operations.ts'
import type { StoreClusterStatus } from '../../../../operator/kinds/cluster/status.ts'
import { decide } from '../../../../operator/machines/decide.ts'
import { clusterObject, read } from '../../../support/operator/cluster-states.ts'
import {
  DISTURBANCE_KINDS,
  DISTURBANCES,
  runPass,
  settle,
} from '../../../support/operator/operator-run.ts'
import { World } from '../../../support/operator/world.ts'

const PASSES = 25
const PLACE = {
  context: 'dev',
  server: 'https://127.0.0.1:6443',
  namespace: 'library',
  name: 'books',
}
const SCREEN = { columns: 100, isTty: true, color: false }

function reportOf(status: StoreClusterStatus): ClusterReport {
  const generation = status.observedGeneration ?? 0
  return buildReport(read(clusterObject(status, { generation }), { pods: [] }), PLACE)
}

/** Whether it is not ready, nobody asked for that, and nothing is being done about it. */
function needsSomebody({ phase, operation, conditions = [] }: StoreClusterStatus): boolean {
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  const waits = conditions.some(
    ({ type, reason }) => type === 'Progressing' && reason.startsWith('Waiting'),
  )
  const isAsked = phase === 'Hibernated' || phase === 'Deleting' || phase === 'Pending'
  return !isReady && operation === undefined && !waits && !isAsked
}

describe('a modelled cluster that is disturbed', () => {
  const needed = new Set<string>()

  for (const kind of DISTURBANCE_KINDS) {
    it(`is told of in words that the handbook has, on a screen that fits: ${kind}`, () => {
      const world = new World({ replicationFactor: 2 })
      settle(world, decide)
      DISTURBANCES[kind](world, seededRandom(5))
      for (let pass = 0; pass < PASSES; pass++) {
        const { status, events } = runPass(world, decide)
        world.tick()
        const report = reportOf(status)
        const lines = describeReport(report, {
          screen: SCREEN,
          nowMs: world.nowMs,
          isWhole: false,
        }).split('\n')

        expect(report.status, 'what was written is read').to.deep.equal(status)
        expect(
          (status.conditions ?? []).filter((one) => adviceFor(one) === undefined),
        ).to.deep.equal([])
        expect(events.filter(({ reason }) => !isKnownEvent(reason))).to.deep.equal([])
        expect(lines.filter((line) => textWidth(line) > SCREEN.columns)).to.deep.equal([])
        if (status.operation !== undefined) {
          const { type, phase } = status.operation
          expect(OPERATIONS[type].phases, type).to.include(phase)
        }
        if (needsSomebody(status)) {
          needed.add(kind)
          expect(report.attention, JSON.stringify(status.conditions)).to.not.deep.equal([])
        }
      }
    })
  }

  it('needs somebody after some of them, and says then what to do', () => {
    expect([...needed]).to.include.members(['lose_node', 'etcd_alarm', 'unreachable_store'])
  })
})
