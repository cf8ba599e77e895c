import { expect } from 'chai'
import { silentLog, type Log } from '../../../../lib/log.ts'
import { DamageReport } from '../../../../node/cluster/damage-report.ts'

/** What was marked, in order. */
class Marks {
  readonly made: string[] = []
  failure: Error | undefined

  readonly identity = {
    incarnation: 7,
    markDamaged: (since: number) => this.#mark(`identity since ${since}`),
  }

  readonly membership = { markDamaged: () => this.#mark('membership') }

  async #mark(what: string): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.made.push(what)
  }
}

describe('DamageReport', () => {
  let marks: Marks
  let report: DamageReport
  let complaints: string[]

  beforeEach(() => {
    marks = new Marks()
    complaints = []
    const log: Log = { ...silentLog, error: (message) => complaints.push(message) }
    report = new DamageReport(marks.identity, log)
  })

  it('marks this life while the node has not joined', async () => {
    report.report()
    await report.settled()

    expect(marks.made).to.deep.equal(['identity since 7'])
  })

  it('tells the cluster at once when the node has joined', async () => {
    report.report()
    await report.settled()
    report.joined(marks.membership)
    report.report()
    await report.settled()

    expect(marks.made).to.deep.equal(['identity since 7', 'membership'])
  })

  it('repeats what came while the node was joining', async () => {
    await report.settled()
    report.report()
    report.joined(marks.membership)
    await report.settled()

    expect(marks.made).to.deep.equal(['identity since 7', 'membership'])
  })

  it('logs that the news could not be written', async () => {
    marks.failure = new Error('no disk')
    report.report()
    await report.settled()

    expect(complaints).to.deep.equal(['the cluster does not know of damage'])
  })
})
