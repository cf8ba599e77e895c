// A few rows of the fault table (docs/lab/faults.md), briefly: three nodes and three members of etcd in network
// namespaces. `npm run test:faults` plays all of them for as long as one likes.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { ClusterLab } from '../support/cluster-lab/cluster-lab.ts'
import { LabRun, type Round } from '../support/cluster-lab/lab-run.ts'
import { SCENARIOS } from '../support/cluster-lab/scenarios/all-scenarios.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const FAULTS_MS = 4000
/** What a round of these must at least acknowledge to show anything. */
const ACKNOWLEDGED_MIN = 20

const notes: object[] = []

function noteOf(event: object): void {
  if ('event' in event && event.event === 'note') notes.push(event)
}

describe('three nodes in network namespaces', function () {
  this.timeout(400_000)
  let lab: ClusterLab | undefined
  let run: LabRun

  before(async () => {
    lab = await ClusterLab.open({ etcds: 3, nodes: 3, seed })
    const workloads = ['registers', 'set', 'bank']
    run = new LabRun({ lab, lastsMs: FAULTS_MS, workloads, record: noteOf })
  })

  after(() => lab?.[Symbol.asyncDispose]())

  async function play(id: string): Promise<Round> {
    const scenario = must(
      SCENARIOS.find((one) => one.id === id),
      id,
    )
    const round = await run.round(scenario)
    expect(round.violations, `seed ${seed}: ${JSON.stringify(notes)}`).to.deep.equal([])
    expect(round.acknowledged).to.be.greaterThan(ACKNOWLEDGED_MIN)
    return round
  }

  it('keep their promises while a leader is killed', async () => {
    expect((await play('F1')).kills).to.be.greaterThan(0)
  })

  it('keep their promises when nobody hears one of them', async () => {
    await play('F4d')
  })

  it('keep their promises when all are killed at once', async () => {
    expect((await play('F2')).kills).to.be.at.least(3)
  })
})
