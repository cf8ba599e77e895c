import { expect } from 'chai'
import {
  findAnomalies,
  type AnomalyKind,
  type HistoryTransaction,
} from '../../support/checkers/serializability.ts'

interface Step {
  readonly r?: Readonly<Record<string, bigint>>
  readonly w?: Readonly<Record<string, bigint>>
}

function transaction(id: string, { r = {}, w = {} }: Step): HistoryTransaction {
  return { id, reads: accesses(r), writes: accesses(w) }
}

/** The value of a version is its key and number. */
function accesses(versions: Readonly<Record<string, bigint>>): HistoryTransaction['reads'] {
  return Object.entries(versions).map(([key, version]) => ({
    key,
    version,
    value: version === 0n ? undefined : `${key}${version}`,
  }))
}

const cases: Record<AnomalyKind, { what: string; steps: Readonly<Record<string, Step>> }> = {
  G0: {
    what: 'writes that interleave',
    steps: { a: { w: { x: 1n, y: 2n } }, b: { w: { x: 2n, y: 1n } } },
  },
  G1a: { what: 'a read of an aborted write', steps: { a: { r: { x: 9n } } } },
  G1b: {
    what: 'a read of a value that was never installed',
    steps: { a: { w: { x: 2n } }, b: { r: { x: 1n } } },
  },
  G1c: {
    what: 'two that read from each other',
    steps: { a: { w: { x: 1n }, r: { y: 1n } }, b: { w: { y: 1n }, r: { x: 1n } } },
  },
  'G-single': {
    what: 'a fractured read',
    steps: { a: { w: { x: 1n, y: 1n } }, b: { r: { x: 1n, y: 0n } } },
  },
  G2: {
    what: 'write skew',
    steps: { a: { r: { x: 0n, y: 0n }, w: { x: 1n } }, b: { r: { x: 0n, y: 0n }, w: { y: 1n } } },
  },
  'version-order': {
    what: 'one version written twice',
    steps: { a: { w: { x: 1n } }, b: { w: { x: 1n } } },
  },
}

function kindsOf(steps: Readonly<Record<string, Step>>): readonly AnomalyKind[] {
  const committed = Object.entries(steps).map(([id, step]) => transaction(id, step))
  return findAnomalies({ committed, abortedValues: new Set(['x9']) }).map(({ kind }) => kind)
}

describe('the serializability checker', () => {
  for (const [kind, { what, steps }] of Object.entries(cases)) {
    it(`finds ${what} (${kind})`, () => {
      expect(kindsOf(steps)).to.include(kind)
    })
  }

  it('finds a lost update', () => {
    const steps = {
      a: { w: { x: 1n } },
      b: { r: { x: 1n }, w: { x: 2n } },
      c: { r: { x: 1n }, w: { x: 3n } },
    }

    expect(kindsOf(steps)).to.include('G-single')
  })

  it('accepts transactions one after the other', () => {
    const steps = {
      a: { r: { x: 0n, y: 0n }, w: { x: 1n, y: 1n } },
      b: { r: { x: 1n }, w: { y: 2n } },
      c: { r: { x: 1n, y: 2n }, w: { x: 3n } },
      d: { r: { x: 3n, y: 2n } },
    }

    expect(kindsOf(steps)).to.deep.equal([])
  })

  it('accepts a reader that lags if one point in time explains it', () => {
    const steps = {
      a: { w: { x: 1n, y: 1n } },
      b: { w: { x: 2n, y: 2n } },
      c: { r: { x: 1n, y: 1n } },
    }

    expect(kindsOf(steps)).to.deep.equal([])
  })
})
