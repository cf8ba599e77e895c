import { expect } from 'chai'
import { judge } from '../../../../bench/report/finding.ts'
import type { Goal, Verdict } from '../../../../bench/report/finding.ts'
import { replaceFigures } from '../../../../bench/report/figures-file.ts'
import {
  formatNumber,
  renderFindings,
  renderLatencies,
  renderTable,
} from '../../../../bench/report/report.ts'

const ratio = { kind: 'ratio', label: 'reads', unit: '/s', peerName: 'bare' } as const

describe('bench verdicts', () => {
  it('takes the median of the ratios of pairs, not the ratio of medians', () => {
    const { ratio: ratios } = judge({ ...ratio, ours: [10, 20, 60], peer: [10, 40, 20] })

    expect(ratios).to.deep.equal({ median: 1, min: 0.5, max: 3 })
  })

  it('refuses runs without a partner', () => {
    expect(() => judge({ ...ratio, ours: [1, 2], peer: [1] })).to.throw('one of the peer')
  })

  const cases: Record<Goal['kind'], { value: number; verdict: Verdict }[]> = {
    'at-least': [
      { value: 0.49, verdict: 'missed' },
      { value: 0.5, verdict: 'met' },
    ],
    'at-most': [
      { value: 0.5, verdict: 'met' },
      { value: 0.51, verdict: 'missed' },
    ],
    below: [
      { value: 0.49, verdict: 'met' },
      { value: 0.5, verdict: 'missed' },
    ],
  }
  for (const kind of ['at-least', 'at-most', 'below'] as const) {
    for (const { value, verdict } of cases[kind]) {
      it(`judges ${value} against ${kind} 0.5 as ${verdict}`, () => {
        const goal = { kind, value: 0.5 }

        const ofRatio = judge({ ...ratio, ours: [value * 8], peer: [8], goal })
        const ofValue = judge({ kind: 'value', label: 'p50', unit: 'ms', ours: [value], goal })

        expect(ofRatio.verdict).to.equal(verdict)
        expect(ofValue.verdict).to.equal(verdict)
      })
    }
  }

  it('judges nothing without a goal', () => {
    expect(judge({ ...ratio, ours: [1], peer: [2] }).verdict).to.equal('no goal')
  })
})

describe('bench report', () => {
  it('aligns every column to its widest cell', () => {
    const table = renderTable(['a', 'long title'], [['wide cell', 'x']])

    expect(table.split('\n')).to.deep.equal([
      '| a         | long title |',
      '| --------- | ---------- |',
      '| wide cell | x          |',
    ])
  })

  it('shows a ratio with its spread, goal and verdict', () => {
    const goal = { kind: 'at-least', value: 0.6 } as const

    const table = renderFindings([
      { ...ratio, ours: [4000, 7000, 9000], peer: [10_000, 10_000, 10_000], goal },
    ])

    const cells = table
      .split('\n')[2]!
      .split('|')
      .map((cell) => cell.trim())
    expect(cells.slice(1, -1)).to.deep.equal([
      'reads',
      '7,000 /s',
      '10,000 /s (bare)',
      '0.70',
      '0.40 to 0.90',
      '≥ 0.6',
      'met',
    ])
  })

  it('shows a value without a peer, its goal in its own unit', () => {
    const goal = { kind: 'below', value: 5 } as const

    const table = renderFindings([
      { kind: 'value', label: 'p50', unit: 'ms', ours: [6, 7, 8], goal },
    ])

    expect(table).to.match(/\| p50 \| 7\.00 ms \| +\| +\| 6\.00 to 8\.00 \| < 5 ms \| missed +\|$/)
  })

  it('shows the medians of latencies over the runs', () => {
    const table = renderLatencies([
      {
        label: 'reads',
        side: 'bare',
        clients: 16,
        p50Ms: [1, 3, 2],
        p95Ms: [5, 7, 6],
        p99Ms: [10, 30, 20],
      },
    ])

    expect(table).to.contain('| reads | 16      | bare | 2.00   | 6.00   | 20.0   |')
  })

  const numbers = [
    { value: 0.1234, text: '0.12' },
    { value: 12.34, text: '12.3' },
    { value: 123.4, text: '123' },
    { value: 1_234_567, text: '1,234,567' },
  ]
  for (const { value, text } of numbers) {
    it(`writes ${value} as ${text}`, () => {
      expect(formatNumber(value)).to.equal(text)
    })
  }

  const file = 'before\n<!-- figures text: begin -->\nold\n<!-- figures text: end -->\nafter\n'

  it('replaces the figures of a suite and nothing else', () => {
    expect(replaceFigures(file, { suite: 'text' }, 'new\n')).to.equal(
      'before\n<!-- figures text: begin -->\n\nnew\n\n<!-- figures text: end -->\nafter\n',
    )
  })

  it('refuses a file without the marks of the suite', () => {
    expect(() => replaceFigures(file, { suite: 'vector' }, 'new')).to.throw('figures vector: begin')
  })

  it('keeps the figures of a suite when some of its rows are measured', () => {
    const rows = ['size', 'load']
    const own = file.replaceAll('figures text', 'figures text size,load 500 quick')
    const name = { suite: 'text', rows, documents: 500, quick: true }

    expect(() => replaceFigures(file, { suite: 'text', rows }, 'new')).to.throw('text size,load: b')
    expect(replaceFigures(file + own, name, 'new')).to.equal(
      file + own.replace('\nold\n', '\n\nnew\n\n'),
    )
  })
})
