import { expect } from 'chai'
import type { GraphSession, GraphTensor } from '../../inference/runtime/graph-session.ts'
import { must } from '../../lib/assert.ts'
import { errorOf } from '../support/error-of.ts'

type Feeds = Readonly<Record<string, GraphTensor>>

const ALL = ['last_hidden_state', 'pooler_output']

function integers(dims: readonly number[], values: readonly number[]): GraphTensor {
  return { type: 'int64', dims, data: BigInt64Array.from(values, BigInt) }
}

/** One row of token ids, none of which is padding. */
function feed(...ids: readonly number[]): Feeds {
  const ones = ids.map(() => 1)
  return {
    input_ids: integers([1, ids.length], ids),
    attention_mask: integers([1, ids.length], ones),
  }
}

function numbersOf(answers: Feeds, name: string): number[] {
  return Array.from(must(answers[name], name).data, Number)
}

/** Every GraphSession must pass. `open` gives a new one of the graph `textTowerGraph`. */
export function describeGraphSession(name: string, open: () => Promise<GraphSession>): void {
  describe(`${name}: GraphSession contract`, () => {
    let session: GraphSession

    beforeEach(async () => {
      session = await open()
    })
    afterEach(() => session.release())

    it('describes its inputs and outputs with their fixed sizes', () => {
      const slots = [...session.inputs, ...session.outputs]

      expect(slots).to.deep.equal([
        { name: 'input_ids', type: 'int64', dims: [undefined, undefined] },
        { name: 'attention_mask', type: 'int64', dims: [undefined, undefined] },
        { name: 'last_hidden_state', type: 'float32', dims: [undefined, undefined, 4] },
        { name: 'pooler_output', type: 'float32', dims: [undefined, 4] },
      ])
    })

    it('answers every output of the graph', async () => {
      const answers = await session.run(feed(2, 4))

      expect(Object.keys(answers)).to.have.members(ALL)
      expect(answers['last_hidden_state']).to.deep.include({ type: 'float32', dims: [1, 2, 4] })
      expect(answers['pooler_output']).to.deep.include({ type: 'float32', dims: [1, 4] })
      expect(numbersOf(answers, 'last_hidden_state')).to.deep.equal([2, 1, -2, 1, 4, 1, -4, 4])
      expect(numbersOf(answers, 'pooler_output')).to.deep.equal([4, 1, -2, 4])
    })

    for (const wanted of [[ALL[0]!], [ALL[1]!], ALL.toReversed()]) {
      it(`answers only ${wanted.join(' and ')} when asked for nothing else`, async () => {
        expect(Object.keys(await session.run(feed(2), wanted))).to.have.members(wanted)
      })
    }

    describeRefusals(() => session)

    it('gives its answers to the caller, who may change them without effect on later runs', async () => {
      const first = await session.run(feed(2), ALL)
      const second = await session.run(feed(4), ALL)

      expect(numbersOf(first, 'pooler_output')).to.deep.equal([2, 1, -2, 1])
      for (const { data } of Object.values(first)) if (data instanceof Float32Array) data.fill(0)
      expect(numbersOf(second, 'pooler_output')).to.deep.equal([4, 1, -4, 4])
      expect(numbersOf(await session.run(feed(2)), 'pooler_output')).to.deep.equal([2, 1, -2, 1])
    })

    it('does not change the tensors that it is fed', async () => {
      const given = feed(2, 4)
      const copy = structuredClone(given)

      await session.run(given)
      await session.run(given)

      expect(given).to.deep.equal(copy)
    })

    it('keeps concurrent runs apart', async () => {
      const ids = [2, 4, 7, 9]
      const answers = await Promise.all(ids.map((id) => session.run(feed(id), ALL)))

      const firsts = answers.map((answer) => numbersOf(answer, 'pooler_output')[0])
      expect(firsts).to.deep.equal(ids)
    })

    it('may be released twice, and refuses runs after that', async () => {
      await session.release()
      await session.release()

      expect(await errorOf(() => session.run(feed(2)))).to.have.property('name', 'InvariantError')
    })
  })
}

function describeRefusals(session: () => GraphSession): void {
  const ids = feed(2, 4)
  const cases: Readonly<Record<string, Feeds>> = {
    'an id out of range': feed(99),
    'a shape that does not fit the other input': {
      ...ids,
      attention_mask: integers([1, 3], [1, 1, 1]),
    },
    'too few dimensions': { ...ids, input_ids: integers([2], [2, 4]) },
    'fewer numbers than the dimensions say': { ...ids, input_ids: integers([1, 2], [2]) },
    'another type': {
      ...ids,
      input_ids: { type: 'float32', dims: [1, 2], data: Float32Array.of(2, 4) },
    },
    'an input left out': { input_ids: must(ids['input_ids'], 'ids') },
  }
  for (const [name, feeds] of Object.entries(cases)) {
    it(`refuses ${name}, and serves the next run`, async () => {
      const error = await errorOf(() => session().run(feeds))

      expect(error).to.have.property('code', 'INFERENCE_FAILED')
      expect(numbersOf(await session().run(feed(2)), 'pooler_output')).to.deep.equal([2, 1, -2, 1])
    })
  }
}
