import { expect } from 'chai'
import { counter, familyLines, Histogram, MetricSources, samplesBy } from '../../../lib/metrics.ts'

describe('familyLines', () => {
  it('writes help, type and samples', () => {
    expect(familyLines(counter('a_total', 'How many.', 3))).to.deep.equal([
      '# HELP a_total How many.',
      '# TYPE a_total counter',
      'a_total 3',
    ])
  })

  it('names each sample by its labels', () => {
    const samples = samplesBy('state', { up: 2, down: 0 })

    const [, , ...lines] = familyLines({ name: 'a', type: 'gauge', help: 'A.', samples })

    expect(lines).to.deep.equal(['a{state="up"} 2', 'a{state="down"} 0'])
  })

  it('escapes characters that would end a label early', () => {
    const samples = [{ labels: { name: 'a"b\\c\nd' }, value: 1 }]

    const lines = familyLines({ name: 'a', type: 'gauge', help: 'A.', samples })

    expect(lines.at(-1)).to.equal(String.raw`a{name="a\"b\\c\nd"} 1`)
  })
})

describe('Histogram', () => {
  it('counts each value in its bucket and all above it', () => {
    const histogram = new Histogram([1, 2])

    for (const value of [0.5, 1, 2, 4]) histogram.observe(value)

    expect(histogram.lines('a', 'A.')).to.deep.equal([
      '# HELP a A.',
      '# TYPE a histogram',
      'a_bucket{le="1"} 2',
      'a_bucket{le="2"} 3',
      'a_bucket{le="+Inf"} 4',
      'a_sum 7.5',
      'a_count 4',
    ])
  })

  it('puts labels in front of the bound', () => {
    const lines = new Histogram([1]).sampleLines('a', { of: 'x' })

    expect(lines).to.deep.equal([
      'a_bucket{of="x",le="1"} 0',
      'a_bucket{of="x",le="+Inf"} 0',
      'a_sum{of="x"} 0',
      'a_count{of="x"} 0',
    ])
  })
})

describe('MetricSources', () => {
  it('gives the lines of all sources, and counts failing sources instead of failing', async () => {
    const sources = new MetricSources()
    sources.add(() => ['first 1'])
    sources.add(() => {
      throw new Error('the disk does not answer')
    })
    sources.add(() => Promise.reject(new Error('it is closed')))
    sources.add(async () => ['last 1'])

    const [first, last, ...others] = await sources.lines()

    expect([first, last]).to.deep.equal(['first 1', 'last 1'])
    expect(others.at(-1)).to.equal('quarry_metrics_failures_total 2')
  })
})
