import { expect } from 'chai'
import {
  listViolations,
  type ListRead,
  type ListTransaction,
} from '../../support/checkers/list-append.ts'

/** One after the other, unless told otherwise. */
function transactions(
  ...given: readonly (Partial<ListTransaction> & { readonly id: string })[]
): readonly ListTransaction[] {
  return given.map((one, i) => {
    const times = { beganAt: 2 * i, endedAt: 2 * i + 1 }
    return { reads: [], appends: [], outcome: 'ok', ...times, ...one }
  })
}

function read(key: string, items: readonly string[], version?: bigint): ListRead {
  return { key, items, version }
}

function rulesOf(
  given: readonly ListTransaction[],
  final: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const lists = new Map(Object.entries(final))
  return [...new Set(listViolations(given, lists).map(({ rule }) => rule))]
}

describe('the checker of lists', () => {
  it('finds nothing wrong with transactions that take their turns', () => {
    const given = transactions(
      { id: 'a', appends: ['x', 'y'] },
      { id: 'b', reads: [read('x', ['a'], 5n)], appends: ['x'] },
      { id: 'c', reads: [read('x', ['a', 'b'], 7n), read('y', ['a'])] },
    )

    expect(rulesOf(given, { x: ['a', 'b'], y: ['a'] })).to.deep.equal([])
  })

  it('lets a transaction of unknown outcome be there or not', () => {
    const given = transactions({ id: 'a', appends: ['x'], outcome: 'unknown', endedAt: Infinity })

    expect(rulesOf(given, { x: ['a'] })).to.deep.equal([])
    expect(rulesOf(given, { x: [] })).to.deep.equal([])
  })

  it('names what was acknowledged and is lost', () => {
    const given = transactions({ id: 'a', appends: ['x'] })

    expect(rulesOf(given, { x: [] })).to.deep.equal(['append'])
  })

  it('names what was refused and is there', () => {
    const given = transactions({ id: 'a', appends: ['x'], outcome: 'fail' })

    expect(rulesOf(given, { x: ['a'] })).to.include('append')
  })

  it('names half a transaction', () => {
    const ending = { outcome: 'unknown', endedAt: Infinity } as const
    const given = transactions({ id: 'a', appends: ['x', 'y'], ...ending })

    expect(rulesOf(given, { x: ['a'], y: [] })).to.deep.equal(['append'])
  })

  it('names what took effect twice', () => {
    const given = transactions({ id: 'a', appends: ['x'] })

    expect(rulesOf(given, { x: ['a', 'a'] })).to.deep.equal(['append'])
  })

  it('names a read of a list that became another one', () => {
    const given = transactions(
      { id: 'a', appends: ['x'] },
      { id: 'b', appends: ['x'] },
      { id: 'c', reads: [read('x', ['b', 'a'])] },
    )

    expect(rulesOf(given, { x: ['a', 'b'] })).to.include('prefix')
  })

  it('names a read that misses what was acknowledged before', () => {
    const given = transactions({ id: 'a', appends: ['x'] }, { id: 'b', reads: [read('x', [])] })

    expect(rulesOf(given, { x: ['a'] })).to.deep.equal(['stale'])
  })

  it('lets a read miss what was acknowledged after it began', () => {
    const given = transactions(
      { id: 'a', appends: ['x'], beganAt: 0, endedAt: 2 },
      { id: 'b', reads: [read('x', [])], beganAt: 1, endedAt: 3 },
    )

    expect(rulesOf(given, { x: ['a'] })).to.deep.equal([])
  })

  it('names versions that do not grow with their list', () => {
    const given = transactions(
      { id: 'a', appends: ['x'] },
      { id: 'b', reads: [read('x', ['a'], 7n)], appends: ['x'] },
      { id: 'c', reads: [read('x', ['a', 'b'], 7n)] },
    )

    expect(rulesOf(given, { x: ['a', 'b'] })).to.deep.equal(['version'])
  })

  it('names two versions of one list', () => {
    const given = transactions(
      { id: 'a', appends: ['x'] },
      { id: 'b', reads: [read('x', ['a'], 7n)] },
      { id: 'c', reads: [read('x', ['a'], 8n)] },
    )

    expect(rulesOf(given, { x: ['a'] })).to.deep.equal(['version'])
  })

  it('names write skew', () => {
    const both = { beganAt: 0, endedAt: 1 }
    const given = transactions(
      { id: 'a', reads: [read('x', []), read('y', [])], appends: ['x'], ...both },
      { id: 'b', reads: [read('x', []), read('y', [])], appends: ['y'], ...both },
    )

    expect(rulesOf(given, { x: ['a'], y: ['b'] })).to.deep.equal(['G2'])
  })
})
