import { Writable } from 'node:stream'
import { expect } from 'chai'
import { PullProgress } from '../../../../cli/models/pull-progress.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import type { HubFile } from '../../../../inference/models/hub/hub-listing.ts'

/** A terminal as the library that draws on it sees one. */
class Screen extends Writable {
  readonly isTTY = true
  readonly columns: number
  text = ''

  constructor(columns: number) {
    super()
    this.columns = columns
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}

describe('the progress of a pull', () => {
  const file: HubFile = {
    path: 'onnx/model.onnx',
    bytes: 4000,
    digest: { kind: 'git-blob', hex: '' },
  }

  it('shows share, bytes, speed and file', () => {
    const text = draw(120, (progress, clock) => {
      progress.onPlan({ files: 2, bytes: 5000 })
      progress.onFileBytes({ ...file, path: 'config.json' }, 1000)
      clock.advance(2000)
      progress.onFileBytes(file, 1500)
    })

    expect(text).to.include('50%  2.5 KB of 5.0 KB · 750 B/s · onnx/model.onnx')
  })

  it('does not count bytes of an earlier pull as speed', () => {
    const text = draw(120, (progress, clock) => {
      progress.onPlan({ files: 1, bytes: 4000 })
      progress.onFileBytes(file, 3000)
      clock.advance(1000)
      progress.onFileBytes(file, 3100)
    })

    expect(text).to.include('3.1 KB of 4.0 KB · 100 B/s')
  })

  it('shows why a download is tried again', () => {
    const text = draw(120, (progress) => {
      progress.onPlan({ files: 1, bytes: 4000 })
      progress.onRetry('the hub answered with status 503')
    })

    expect(text).to.include('the hub answered with status')
  })

  it('leaves out the bar where there is no room', () => {
    const text = draw(26, (progress, clock) => {
      progress.onPlan({ files: 1, bytes: 4000 })
      clock.advance(1000)
      progress.onFileBytes(file, 2000)
    })

    expect(text).to.include('2.0 KB of 4.0 KB')
    expect(text).to.not.include('50%')
  })
})

function draw(columns: number, work: (progress: PullProgress, clock: ManualClock) => void): string {
  const screen = new Screen(columns)
  const clock = new ManualClock()
  const progress = new PullProgress({ stream: screen, isTty: true, color: false, columns }, clock)
  work(progress, clock)
  return screen.text
}
