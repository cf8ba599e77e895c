// What every library of graphs promises (node/index/vector/graph/vector-graph.ts).

import { fstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import type { GraphLibrary, GraphShape } from '../../node/index/vector/graph/vector-graph.ts'
import { errorOf } from '../support/error-of.ts'
import { openFilesBelow } from '../support/open-files.ts'

const SHAPE: GraphShape = { dimension: 16, metric: 'l2_squared', quantization: 'f32' }
const ROWS = 500
const STANDARD_INPUT = 0

export function describeGraphLibrary(name: string, library: GraphLibrary): void {
  describe(`${name} as a library of graphs`, () => {
    const random = seededRandom(5)
    const vectors = Array.from({ length: 2 * ROWS }, () =>
      Float32Array.from({ length: SHAPE.dimension }, () => random() * 2 - 1),
    )
    let directory = ''
    beforeEach(() => {
      directory = mkdtempSync(path.join(tmpdir(), 'quarry-graph-'))
    })
    afterEach(() => rmSync(directory, { recursive: true, force: true }))

    function grown() {
      const graph = library.grow(SHAPE, ROWS)
      for (const [row, vector] of vectors.slice(0, ROWS).entries()) graph.add(row, vector)
      return graph
    }

    function saved(): string {
      const file = path.join(directory, 'graph')
      grown().save(file)
      return file
    }

    it('finds each row by its own vector, grown, saved and extended', () => {
      const file = saved()
      const more = library.extend(SHAPE, file)
      for (let row = ROWS; row < 2 * ROWS; row += 1) more.add(row, vectors[row] ?? vectors[0]!)
      const graphs = [grown().finish(), library.view(SHAPE, file), more.finish()]

      const found = graphs.map((graph, i) => {
        const own = vectors.slice(0, i === 2 ? 2 * ROWS : ROWS)
        return own.filter((vector, row) => graph.search(vector, 20).rows.includes(row)).length
      })

      expect(found[0]).to.be.at.least(ROWS * 0.99)
      expect(found[1]).to.equal(found[0])
      expect(found[2]).to.be.at.least(2 * ROWS * 0.99)
      for (const graph of graphs) graph.close()
    })

    it('answers as many rows as are wanted, and no more than there are', () => {
      const graph = grown().finish()
      const [vector] = vectors

      expect(graph.search(vector!, 10).rows).to.have.length(10)
      const all = graph.search(vector!, 2 * ROWS).rows
      expect(all.length).to.be.within(100, ROWS)
      expect(new Set(all).size).to.equal(all.length)
      graph.close()
    })

    it('has no file open, or mapped, once a graph is closed', () => {
      const graph = library.view(SHAPE, saved())
      graph.search(vectors[0]!, 1)

      graph.close()

      expect(openFilesBelow(directory)).to.deep.equal([])
      expect(readFileSync('/proc/self/maps', 'utf8')).to.not.include(directory)
    })

    it('refuses a file that is not there, and touches no other file', async () => {
      const before = fstatSync(STANDARD_INPUT)

      for (const how of ['view', 'extend'] as const) {
        const refusal = await errorOf(() => library[how](SHAPE, path.join(directory, 'none')))
        expect(refusal).to.have.property('code')
      }

      expect(fstatSync(STANDARD_INPUT).ino).to.equal(before.ino)
    })
  })
}
