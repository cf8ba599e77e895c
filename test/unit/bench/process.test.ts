import { expect } from 'chai'
import { parseOptions, selectRows } from '../../../bench/options.ts'
import { parseCpuSeconds, parseProcessMemory } from '../../../bench/process-memory.ts'
import { summariseProfile } from '../../../bench/report/profile-summary.ts'

const parse = (...args: string[]) => parseOptions(args, ['documents'])

function frame(functionName: string, url: string, lineNumber: number) {
  return { callFrame: { functionName, url, lineNumber } }
}

describe('bench options', () => {
  it('have defaults for everything but the suite', () => {
    const options = parse('documents')

    expect(options).to.include({ suite: 'documents', quick: false, runs: 5, seed: 1 })
    expect(options.clients).to.deep.equal([1, 16, 64, 128])
    expect(options.rows).to.equal(undefined)
  })

  it('take lists and numbers', () => {
    const options = parse('documents', '--rows', 'b,a', '--clients', '1,64', '--runs', '7')

    expect(options.rows).to.deep.equal(['b', 'a'])
    expect(options.clients).to.deep.equal([1, 64])
    expect(options.runs).to.equal(7)
  })

  const refused: Record<string, string[]> = {
    'no suite': [],
    'two suites': ['documents', 'documents'],
    'an unknown suite': ['vectors'],
    'no runs at all': ['documents', '--runs', '0'],
    'half a run': ['documents', '--runs', '1.5'],
    'a word for clients': ['documents', '--clients', '1,many'],
    'an unknown option': ['documents', '--fast'],
  }
  for (const [what, args] of Object.entries(refused)) {
    it(`refuse ${what}`, () => {
      expect(() => parse(...args)).to.throw()
    })
  }

  it('select rows in the order of the suite', () => {
    expect(selectRows(['c', 'a'], ['a', 'b', 'c'])).to.deep.equal(['a', 'c'])
    expect(selectRows(undefined, ['a', 'b'])).to.deep.equal(['a', 'b'])
  })

  it('refuse a row that is not in the suite', () => {
    expect(() => selectRows(['a', 'z'], ['a', 'b'])).to.throw('unknown row z; the rows are a, b')
  })
})

describe('bench process figures', () => {
  it('reads memory from /proc/<pid>/status, in MiB', () => {
    const status =
      'Name:\tnode\nVmHWM:\t    4096 kB\nVmRSS:\t    3072 kB\nRssAnon:\t    2048 kB\nRssFile:\t    1024 kB\n'

    const memory = parseProcessMemory(status)

    expect(memory).to.deep.equal({ resident: 3, anonymous: 2, file: 1, residentPeak: 4 })
  })

  it('does not mistake a missing line for zero', () => {
    expect(() => parseProcessMemory('VmRSS:\t 1 kB\n')).to.throw('RssAnon')
  })

  it('reads processor time past a name with spaces and parentheses', () => {
    const stat = '42 (a (b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 11 0 5000'

    expect(parseCpuSeconds(stat)).to.equal(3)
  })

  it('sums self time by place, without idle time, heaviest first', () => {
    const profile = {
      nodes: [
        { id: 1, ...frame('(idle)', '', -1) },
        { id: 2, ...frame('scan', 'file:///anywhere/node/document/scanner.ts', 9) },
        { id: 3, ...frame('scan', 'file:///anywhere/node/document/scanner.ts', 9) },
        { id: 4, ...frame('(garbage collector)', '', -1) },
      ],
      samples: [1, 2, 3, 4],
      timeDeltas: [1000, 30, 30, 40],
    }

    const entries = summariseProfile(profile, 2)

    expect(entries).to.deep.equal([
      { place: 'scan node/document/scanner.ts:10', share: 0.6 },
      { place: '(garbage collector)', share: 0.4 },
    ])
  })
})
