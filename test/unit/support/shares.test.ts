import { expect } from 'chai'
import { divideTests, filesInScope, longFilesMissingFrom } from '../../ci/shares.ts'

const LONG = 'test/integration/cluster-text-suites.test.ts'
const DEMOS = ['test/integration/cli-swarm.test.ts', 'test/integration/docs-browser.test.ts']
const MEASURING = 'test/unit/sliced.test.ts'

/** Forty ordinary files, a long one, two that must not run at once, and one that measures. */
const FILES = [
  ...Array.from({ length: 40 }, (_, i) => `test/unit/some-${i}.test.ts`),
  LONG,
  ...DEMOS,
  MEASURING,
]

function textOf(file: string): string {
  return file === MEASURING ? "import { it } from '../support/slices/step-time.ts'" : ''
}

describe('divideTests', () => {
  const { sideBySide, alone } = divideTests(FILES, textOf)

  it('puts each file into one share', () => {
    const files = [...sideBySide, alone].flatMap((share) => share.files)

    expect(files.toSorted()).to.deep.equal(FILES.toSorted())
  })

  it('keeps what measures apart', () => {
    expect(alone.files).to.deep.equal([MEASURING])
  })

  it('starts with the longest, and fills shares with short ones', () => {
    const seconds = sideBySide.map((share) => share.seconds)
    const short = sideBySide.filter(({ files }) => files[0]?.startsWith('test/unit/') === true)

    expect(sideBySide[0]?.files).to.deep.equal([LONG])
    expect(seconds).to.deep.equal(seconds.toSorted((a, b) => b - a))
    expect(short).to.have.length(2)
  })

  it('keeps two demos in one process', () => {
    const withDemos = sideBySide.filter(({ files }) => files.some((file) => DEMOS.includes(file)))

    expect(withDemos.map(({ files }) => files)).to.deep.equal([DEMOS])
  })

  it('has an empty share of what measures when nothing does', () => {
    expect(divideTests([LONG], () => '').alone.files).to.deep.equal([])
  })
})

describe('filesInScope', () => {
  it('has each file either in what is quick or in the rest', () => {
    const quick = filesInScope(FILES, 'quick')
    const rest = filesInScope(FILES, 'rest')

    expect([...quick, ...rest].toSorted()).to.deep.equal(FILES.toSorted())
    expect(rest).to.include(LONG)
    expect(quick).to.include(MEASURING)
    expect(filesInScope(FILES, 'all')).to.deep.equal(FILES)
  })

  it('tells which long files are gone', () => {
    expect(longFilesMissingFrom(FILES)).to.include('test/integration/model.test.ts')
    expect(longFilesMissingFrom(FILES)).not.to.include(LONG)
  })
})
