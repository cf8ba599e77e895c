import { expect } from 'chai'
import { seededRandom } from '../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { buildGramMatrix } from '../../../../../node/query/analyses/gram-matrix.ts'
import { principalComponents } from '../../../../../node/query/analyses/principal-components.ts'
import { tSne } from '../../../../../node/query/analyses/t-sne.ts'

const pca = (vectors: readonly Float32Array[]): Float64Array =>
  runAtOnce(principalComponents(runAtOnce(buildGramMatrix(vectors))))

function drawn(vectors: readonly Float32Array[]): Float64Array {
  const gram = runAtOnce(buildGramMatrix(vectors))
  return runAtOnce(tSne(gram, runAtOnce(principalComponents(gram))))
}

const pairsOf = (points: Float64Array): readonly (readonly [number, number])[] =>
  Array.from({ length: points.length / 2 }, (_, i) => [points[2 * i] ?? 0, points[2 * i + 1] ?? 0])
const rounded = (points: Float64Array): number[] =>
  [...points].map((one) => Number(one.toFixed(6)) + 0)

describe('principal components', () => {
  // Centred: (-3,-4), (0,0), (3,4): one direction (0.6, 0.8), along which they are at -5, 0 and 5.
  it('are the places along a line, and nothing beside it', () => {
    const points = [Float32Array.of(0, 0), Float32Array.of(3, 4), Float32Array.of(6, 8)]

    expect(rounded(pca(points)).map(Math.abs)).to.deep.equal([5, 0, 0, 0, 5, 0])
  })

  // A box of 6 × 2 about (1, 1, 1): the long side is the first component.
  it('show the long side of a box before the short one', () => {
    const points = [
      Float32Array.of(-2, 0, 1),
      Float32Array.of(-2, 2, 1),
      Float32Array.of(4, 0, 1),
      Float32Array.of(4, 2, 1),
    ]

    const found = pairsOf(pca(points))

    expect(found.map(([x]) => Number(Math.abs(x).toFixed(6)))).to.deep.equal([3, 3, 3, 3])
    expect(found.map(([, y]) => Number(Math.abs(y).toFixed(6)))).to.deep.equal([1, 1, 1, 1])
    expect(found[0]?.[0]).to.be.closeTo(found[1]?.[0] ?? NaN, 1e-6)
    expect(found[0]?.[1]).to.be.closeTo(found[2]?.[1] ?? NaN, 1e-6)
  })

  // Points of a plane in 40 dimensions: two components keep every distance.
  it('keep the distances of points that lie in a plane', () => {
    const random = seededRandom(3)
    const axes = [0, 1].map(() => Float32Array.from({ length: 40 }, () => random() - 0.5))
    const points = Array.from({ length: 30 }, () => {
      const [a, b] = [random(), random()]
      return Float32Array.from(
        { length: 40 },
        (_, i) => a * (axes[0]?.[i] ?? 0) + b * (axes[1]?.[i] ?? 0),
      )
    })

    const found = pairsOf(pca(points))

    for (const [i, left] of points.entries()) {
      for (const [j, right] of points.entries()) {
        const squares = left.reduce((sum, one, at) => sum + (one - (right[at] ?? 0)) ** 2, 0)
        const [x, y] = [0, 1].map((at) => (found[i]?.[at] ?? 0) - (found[j]?.[at] ?? 0))
        expect(Math.hypot(x ?? 0, y ?? 0)).to.be.closeTo(Math.sqrt(squares), 1e-4)
      }
    }
  })

  it('exist for no point, for one, and for equal ones', () => {
    expect([...pca([])]).to.deep.equal([])
    expect([...pca([Float32Array.of(1, 2)])]).to.deep.equal([0, 0])
    expect([...pca([Float32Array.of(1, 2), Float32Array.of(1, 2)])]).to.deep.equal([0, 0, 0, 0])
  })
})

describe('t-SNE', () => {
  const random = seededRandom(11)
  const clusters = [0, 1, 2]
  const points = clusters.flatMap((cluster) =>
    Array.from({ length: 20 }, () =>
      Float32Array.from({ length: 16 }, (_, i) => (i === cluster ? 10 : 0) + random()),
    ),
  )

  it('keeps each point nearer to all of its own cluster than to any other', () => {
    const found = pairsOf(drawn(points))

    for (const [i, [x, y]] of found.entries()) {
      const to = found.map(([u, v]) => Math.hypot(x - u, y - v))
      const own = to.filter((_, j) => Math.floor(j / 20) === Math.floor(i / 20))
      const others = to.filter((_, j) => Math.floor(j / 20) !== Math.floor(i / 20))
      expect(Math.max(...own)).to.be.below(Math.min(...others))
    }
  })

  it('draws equal points equally, every time', () => {
    expect([...drawn(points)]).to.deep.equal([...drawn(points)])
  })

  it('ends with finite places for few points, equal ones and points on a line', () => {
    const one = Float32Array.of(1, 0)
    const line = Array.from({ length: 12 }, (_, i) => Float32Array.of(i, 2 * i))

    for (const some of [[], [one], [one, one], [one, Float32Array.of(5, 5)], line]) {
      const found = [...drawn(some)]
      expect(found).to.have.lengthOf(2 * some.length)
      expect(found.every(Number.isFinite)).to.equal(true)
    }
  })

  it('pauses in proportion to the pairs', () => {
    const many = Array.from({ length: 100 }, () => Float32Array.of(random(), random()))
    const gram = runAtOnce(buildGramMatrix(many))
    const work = tSne(gram, runAtOnce(principalComponents(gram)))
    let pauses = 0
    while (work.next().done !== true) pauses += 1

    expect(pauses).to.be.above(100)
  })
})
