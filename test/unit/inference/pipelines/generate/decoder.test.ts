import { expect } from 'chai'
import * as fc from 'fast-check'
import { gatherRows } from '../../../../../inference/pipelines/cache-rows.ts'
import { KvDecoder } from '../../../../../inference/pipelines/generate/kv-decoder.ts'
import { runRows } from '../../../../../inference/pipelines/row-outputs.ts'
import { planRuns } from '../../../../../inference/pipelines/run-plan.ts'
import type { GraphTensor } from '../../../../../inference/runtime/graph-session.ts'
import { ScriptedGraph, floats, slot } from '../../../../support/fakes/scripted-graph.ts'
import { runSignal } from '../../../../support/inference/runner-parts.ts'

const SHAPE = { headCount: 2, headSize: 4 }

/** For a graph whose logits have this size. */
function tokensPerRun(vocabulary: number | undefined): number {
  const inputs = [slot('input_ids', 'int64')]
  const outputs = [slot('logits', 'float32', [1, undefined, vocabulary])]
  return new KvDecoder(new ScriptedGraph({ inputs, outputs }, () => ({})), SHAPE).tokensPerRun
}

function numbers(tensor: GraphTensor | undefined): number[] {
  return Array.from(tensor?.data ?? [], Number)
}

describe('KvDecoder', () => {
  const half: GraphTensor = { type: 'float16', dims: [1, 2, 3, 4], data: new Uint16Array(24) }
  const inputs = [
    slot('input_ids', 'int64'),
    slot('attention_mask', 'int64'),
    slot('position_ids', 'int64'),
    slot('use_cache_branch', 'bool'),
    slot('num_logits_to_keep', 'int64'),
    slot('past_key_values.0.key', 'float16'),
  ]
  const logits = slot('logits', 'float32', [undefined, undefined, 3])
  const outputs = [logits, slot('present.0.key', 'float16')]

  it('feeds the declared inputs, with positions behind the earlier tokens', async () => {
    const graph = new ScriptedGraph({ inputs, outputs }, () => ({
      logits: floats([1, 2, 3], [9, 9, 9, 1, 2, 3]),
      'present.0.key': half,
    }))
    const decoder = new KvDecoder(graph, SHAPE)

    const first = await decoder.step(decoder.begin(), [7, 8, 9])
    await decoder.step(first.sequence, [5])

    expect([...first.logits]).to.deep.equal([1, 2, 3])
    const [start, next] = graph.feeds
    expect(start!['past_key_values.0.key']).to.deep.include({ type: 'float16', dims: [1, 2, 0, 4] })
    expect(numbers(start!['position_ids'])).to.deep.equal([0, 1, 2])
    expect(numbers(start!['use_cache_branch'])).to.deep.equal([0])
    expect(numbers(start!['num_logits_to_keep'])).to.deep.equal([1])
    expect(next!['past_key_values.0.key']).to.equal(half)
    expect(numbers(next!['input_ids'])).to.deep.equal([5])
    expect(numbers(next!['position_ids'])).to.deep.equal([3])
    expect(numbers(next!['attention_mask'])).to.deep.equal([1, 1, 1, 1])
    expect(numbers(next!['use_cache_branch'])).to.deep.equal([1])
  })

  it('asks only for the cache while it reads a prompt', async () => {
    const graph = new ScriptedGraph({ inputs, outputs }, () => ({ 'present.0.key': half }))
    const decoder = new KvDecoder(graph, SHAPE)

    const fed = await decoder.feed(decoder.begin(), [7, 8])

    expect(graph.wanted).to.deep.equal([['present.0.key']])
    expect(fed).to.deep.equal({ cache: { 'past_key_values.0.key': half }, ids: [7, 8] })
  })

  it('feeds the whole text to a graph without a cache', async () => {
    const plain = [slot('input_ids', 'int64'), slot('attention_mask', 'int64')]
    const graph = new ScriptedGraph({ inputs: plain, outputs: [logits] }, () => ({
      logits: floats([1, 1, 3], [1, 2, 3]),
    }))
    const decoder = new KvDecoder(graph, SHAPE)

    const fed = await decoder.feed(decoder.begin(), [7, 8])
    const first = await decoder.step(fed, [9])
    await decoder.step(first.sequence, [5])

    expect(graph.feeds.map((feeds) => numbers(feeds['input_ids']))).to.deep.equal([
      [7, 8, 9],
      [7, 8, 9, 5],
    ])
  })

  it('reads fewer tokens at once the larger the vocabulary is', () => {
    expect(tokensPerRun(1000)).to.equal(512)
    expect(tokensPerRun(262_144)).to.equal(128)
    expect(tokensPerRun(undefined)).to.equal(128)
  })
})

describe('runRows', () => {
  it('runs a graph of a fixed batch size as often as needed', async () => {
    const graph = new ScriptedGraph(
      {
        inputs: [slot('input_ids', 'int64', [2, undefined])],
        outputs: [slot('logits', 'float32')],
      },
      (feeds) => {
        const [rows = 0, width = 1] = feeds['input_ids']!.dims
        const ids = numbers(feeds['input_ids'])
        return {
          logits: floats(
            [rows, 1],
            Array.from({ length: rows }, (_, row) => ids[row * width]!),
          ),
        }
      },
    )
    const encodings = [5, 6, 7].map((id) => ({ ids: [id], typeIds: [0] }))

    const rows = await runRows(graph, encodings, { padId: 0, paddingSide: 'right' }, runSignal())

    expect(rows.map(({ values }) => [...values])).to.deep.equal([[5], [6], [7]])
    expect(graph.feeds.map((feeds) => feeds['input_ids']!.dims)).to.deep.equal([
      [2, 1],
      [2, 1],
    ])
  })

  it('pads to a fixed length, and runs few rows of a long one at once', async () => {
    const graph = new ScriptedGraph(
      {
        inputs: [slot('input_ids', 'int64', [undefined, 500])],
        outputs: [slot('logits', 'float32')],
      },
      (feeds) => ({ logits: floats([feeds['input_ids']!.dims[0]!, 1], [1, 2]) }),
    )
    const encodings = [1, 2, 3].map((length) => ({
      ids: Array.from({ length }, () => 7),
      typeIds: [],
    }))

    const rows = await runRows(graph, encodings, { padId: 0, paddingSide: 'left' }, runSignal())

    expect(rows.map(({ leadingPadding }) => leadingPadding)).to.deep.equal([499, 498, 497])
    expect(graph.feeds.map((feeds) => feeds['input_ids']!.dims)).to.deep.equal([
      [2, 500],
      [1, 500],
    ])
  })

  it("refuses rows that are longer than the graph's fixed length", async () => {
    const inputs = [slot('input_ids', 'int64', [undefined, 2])]
    const graph = new ScriptedGraph({ inputs, outputs: [slot('logits', 'float32')] }, () => ({}))
    const long = { ids: [1, 2, 3], typeIds: [0, 0, 0] }

    const error = await runRows(
      graph,
      [long],
      { padId: 0, paddingSide: 'right' },
      runSignal(),
    ).catch((caught: unknown) => caught)

    expect(error).to.have.property('message', 'the graph takes 2 tokens, not 3')
  })

  it('refuses an answer of another number of rows', async () => {
    const graph = new ScriptedGraph(
      { inputs: [slot('input_ids', 'int64')], outputs: [slot('logits', 'float32')] },
      () => ({ logits: floats([1, 1], [1]) }),
    )
    const encodings = [5, 6].map((id) => ({ ids: [id], typeIds: [0] }))
    const error = await runRows(
      graph,
      encodings,
      { padId: 0, paddingSide: 'right' },
      runSignal(),
    ).catch((caught: unknown) => caught)
    expect(error).to.have.property('code', 'INFERENCE_FAILED')
  })
})

describe('a plan of runs', () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 40 })
  const free = { rows: undefined, tokens: undefined }

  it('has every row once, of nearly one length, and no more tokens than a run may take', () => {
    fc.assert(
      fc.property(lengths, (rows) => {
        const runs = planRuns(rows, { lengthOf, fixed: free })

        expect(sorted(runs.flatMap((run) => run.rows))).to.deep.equal(sorted(rows))
        for (const { rows: together, filled } of runs) {
          expect(filled).to.deep.equal(together)
          const longest = Math.max(...together)
          if (together.length > 1) expect(longest * together.length).to.be.at.most(1024)
          expect(longest).to.be.at.most((Math.min(...together) + 8) * 1.25)
        }
      }),
    )
  })

  it('fills up the runs of a graph of a fixed size', () => {
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 8 }), (rows, size) => {
        const runs = planRuns(rows, { lengthOf, fixed: { rows: size, tokens: undefined } })

        expect(sorted(runs.flatMap((run) => run.rows))).to.deep.equal(sorted(rows))
        for (const { rows: together, filled } of runs) {
          expect(filled).to.have.length(size)
          expect(filled.slice(0, together.length)).to.deep.equal(together)
        }
      }),
    )
  })

  it('does not pad a short row to a long one', () => {
    const runs = planRuns([10, 500, 11], { lengthOf, fixed: free })

    expect(runs.map(({ rows }) => rows)).to.deep.equal([[500], [11, 10]])
  })
})

describe('rows of a cache', () => {
  it('are gathered in any order, some twice', () => {
    const tensor = floats([3, 1, 2, 1], [1, 2, 3, 4, 5, 6])
    const gathered = gatherRows(tensor, [2, 0, 2, 1])

    expect(gathered.dims).to.deep.equal([4, 1, 2, 1])
    expect(numbers(gathered)).to.deep.equal([5, 6, 1, 2, 5, 6, 3, 4])
  })

  it('may be half floats, but not integers', () => {
    const half: GraphTensor = { type: 'float16', dims: [2, 1], data: Uint16Array.of(1, 2) }
    expect(gatherRows(half, [1])).to.deep.equal({
      type: 'float16',
      dims: [1, 1],
      data: Uint16Array.of(2),
    })
    const int8: GraphTensor = { type: 'int8', dims: [1], data: Int8Array.of(1) }
    expect(() => gatherRows(int8, [0])).to.throw('not floats')
  })
})

function lengthOf(length: number): number {
  return length
}

function sorted(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b)
}
