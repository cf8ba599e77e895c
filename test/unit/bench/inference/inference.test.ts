import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { writeBertGraph } from '../../../../bench/inference/bert-graph.ts'
import type { BertShape, WeightFormat } from '../../../../bench/inference/bert-graph.ts'
import {
  mixedLengths,
  textOf,
  TOKENIZER_CONFIG,
  wordTokenizer,
} from '../../../../bench/inference/embedding-models.ts'
import { readTreeMemory, treeOf } from '../../../../bench/process-tree.ts'
import { RawPeer } from '../../../../bench/inference/raw-peer.ts'
import { cut } from '../../../../bench/inference/throughput.ts'
import { openTokenizer } from '../../../../inference/text/tokenizer-handle.ts'
import { seededRandom } from '../../../../lib/random.ts'

const SMALL: BertShape = {
  layers: 2,
  hidden: 24,
  heads: 3,
  feedForward: 48,
  vocabulary: 50,
  positions: 32,
}

describe('bench graphs', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-bench-test-'))
  })

  after(() => rm(folder, { recursive: true }))

  for (const format of ['f32', 'i8'] as const) {
    it(`of BERT with ${format} weights mask their padding`, async () => {
      const alone = await lastStates(folder, format, [[1, 5, 9, 2]])
      const padded = await lastStates(folder, format, [
        [1, 5, 9, 2],
        [1, 7, 8, 9, 10, 11, 2],
      ])

      expect(alone.dims).to.deep.equal([1, 4, SMALL.hidden])
      expect(padded.dims).to.deep.equal([2, 7, SMALL.hidden])
      const differences = alone.values.map((value, at) => Math.abs(value - padded.values[at]!))
      // Activations in bytes share their scale with the rows beside them.
      expect(Math.max(...differences)).to.be.lessThan(format === 'f32' ? 1e-4 : 0.1)
      expect(alone.values.some((value) => Math.abs(value) > 0.1)).to.equal(true)
    })
  }

  it('are run by raw processes, each with its share of the rows', async () => {
    const graphFile = path.join(folder, 'raw.onnx')
    // The warm-up is 128 tokens long, and the token of all is number 1000.
    const shape = { ...SMALL, positions: 128, vocabulary: 1100 }
    await writeFile(graphFile, writeBertGraph(shape, 'f32', seededRandom(1)))
    await using peer = await RawPeer.start({ graphFile, processes: 2, threads: 1 })

    expect(await peer.run([[5, 9], [30], [3]])).to.be.greaterThan(0)
  })
})

describe('bench texts', () => {
  it('have exactly the requested number of tokens', () => {
    const tokenizer = openTokenizer({
      tokenizerJson: JSON.stringify(wordTokenizer()),
      tokenizerConfig: JSON.stringify(TOKENIZER_CONFIG),
    })
    const random = seededRandom(5)

    for (const tokens of [9, 16, 128, 221]) {
      const { ids } = tokenizer.encode(textOf(tokens, random), { maxTokens: 512 })
      expect(ids).to.have.length(tokens)
      expect(ids.includes(1)).to.equal(false) // nothing is unknown
    }
  })

  it('of mixed lengths have the requested lengths', () => {
    const lengths = mixedLengths(5000, seededRandom(1))

    expect(Math.min(...lengths)).to.equal(9)
    expect(Math.max(...lengths)).to.be.within(215, 221)
    expect(lengths.reduce((sum, length) => sum + length, 0) / 5000).to.be.within(62, 70)
  })

  it('are cut into requests with nothing left over', () => {
    expect(cut([1, 2, 3, 4, 5], 2)).to.deep.equal([[1, 2], [3, 4], [5]])
    expect(cut([], 2)).to.deep.equal([])
  })
})

describe('bench memory of process trees', () => {
  it('counts this process and its children', async () => {
    expect(await treeOf(process.pid)).to.include(process.pid)
    expect(await readTreeMemory(process.pid)).to.be.greaterThan(20)
  })

  it('is zero for a process that does not exist', async () => {
    expect(await readTreeMemory(2 ** 22 + 1)).to.equal(0)
  })
})

async function lastStates(
  folder: string,
  format: WeightFormat,
  rows: readonly (readonly number[])[],
): Promise<{ dims: readonly number[]; values: number[] }> {
  const file = path.join(folder, `${format}.onnx`)
  await writeFile(file, writeBertGraph(SMALL, format, seededRandom(1)))
  const session = await InferenceSession.create(file, { logSeverityLevel: 3 })
  const length = Math.max(...rows.map((row) => row.length))
  const dims = [rows.length, length]
  const tensor = (valueOf: (row: readonly number[], at: number) => number): Tensor => {
    const cells = rows.flatMap((row) => Array.from({ length }, (_, at) => valueOf(row, at)))
    return new Tensor('int64', BigInt64Array.from(cells.map(BigInt)), dims)
  }
  const { last_hidden_state: states } = await session.run({
    input_ids: tensor((row, at) => row[at] ?? 0),
    attention_mask: tensor((row, at) => (at < row.length ? 1 : 0)),
    token_type_ids: tensor(() => 0),
  })
  await session.release()
  if (!(states?.data instanceof Float32Array)) throw new Error('not floats')
  return { dims: states.dims, values: [...states.data] }
}
