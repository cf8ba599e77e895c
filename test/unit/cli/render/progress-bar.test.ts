import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { LoadProgress } from '../../../../cli/load/load-progress.ts'
import { fitProgress } from '../../../../cli/render/progress-bar.ts'
import { textWidth } from '../../../../cli/render/text-width.ts'
import type { Output } from '../../../../cli/process/terminal.ts'
import { ManualClock } from '../../../../lib/clock.ts'

function screen(columns: number, color = false): Output {
  return { stream: new PassThrough({ encoding: 'utf8' }), isTty: true, color, columns }
}

/** The text on the screen after the last drawing. */
function shown(output: Output): string {
  const text: unknown = output.stream instanceof PassThrough ? output.stream.read() : ''
  return String(text).split('\r\u001b[K').at(-1) ?? ''
}

const FIGURES = ['1,000 docs', '500 docs/s', '1.0 MB']

describe('a line of progress', () => {
  it('is narrower than the terminal, whatever its content', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.record({
          share: fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: undefined }),
          figures: fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 }),
          alarm: fc.option(fc.string(), { nil: undefined }),
          note: fc.option(fc.string(), { nil: undefined }),
        }),
        (columns, texts) => {
          const line = fitProgress(screen(columns), texts)

          expect(textWidth(line)).to.be.at.most(Math.max(1, columns - 1))
        },
      ),
    )
  })

  it('shows bar, figures, alarm and note where there is room', () => {
    const line = fitProgress(screen(120), {
      share: 0.5,
      figures: FIGURES,
      alarm: '2 rejected',
      note: 'waiting',
    })

    expect(line).to.match(
      /^━{20}─{20} {2}50% {2}1,000 docs · 500 docs\/s · 1\.0 MB {2}2 rejected {2}waiting$/,
    )
  })

  it('drops the bar first, then the note, then the last figures', () => {
    const texts = { share: 0.5, figures: FIGURES, note: 'waiting for the server, 12 s' }

    expect(fitProgress(screen(64), texts)).to.equal(
      '1,000 docs · 500 docs/s · 1.0 MB  waiting for the server, 12 s',
    )
    expect(fitProgress(screen(45), texts)).to.equal('1,000 docs · 500 docs/s · 1.0 MB  waiting f…')
    expect(fitProgress(screen(30), texts)).to.equal('1,000 docs · 500 docs/s')
  })
})

describe('the progress of a load', () => {
  const source = {
    items: () => (async function* () {})(),
    progress: () => ({ done: 50, total: 100 }),
    remarks: [],
    reportPath: undefined,
  }
  const counts = { loaded: 1200, rejected: 0, bytes: 1_000_000 }

  it('says that it waits for the server after a time without an answer', async () => {
    const clock = new ManualClock()
    const output = screen(80)
    const progress = new LoadProgress({ source, counts }, { output, clock })
    clock.advance(1000)
    await setImmediate()
    const before = shown(output)

    clock.advance(4000)
    await setImmediate()
    const waiting = shown(output)
    progress.onTrouble('the service is stopping')
    const told = shown(output)
    progress.update()
    clock.advance(125)
    await setImmediate()

    expect(before).to.match(/━+─+ {2}50% {2}1,200 docs · 1,200 docs\/s · 1\.0 MB$/)
    expect(waiting).to.match(/ · 240 docs\/s · 1\.0 MB {2}waiting for the server, 5 s$/)
    expect(told).to.match(/ {2}waiting for the server, 5 s: the service is ?…$/)
    expect(shown(output)).to.match(/ · 234 docs\/s · 1\.0 MB$/)
  })

  it('is not cut inside the codes of its colours', () => {
    const output = screen(40, true)

    new LoadProgress({ source, counts }, { output, clock: new ManualClock() }).update()

    expect(shown(output)).to.match(/1\.0 MB$/)
  })

  it('is erased when the load ends', async () => {
    const output = screen(80)
    const progress = new LoadProgress({ source, counts }, { output, clock: new ManualClock() })

    await progress.stop()

    expect(shown(output)).to.equal('')
  })
})
