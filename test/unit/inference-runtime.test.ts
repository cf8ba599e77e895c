import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { buildTokenFeeds, floatTensor, floatsOf } from '../../inference/runtime/graph-feeds.ts'
import type { GraphSession, GraphSlot } from '../../inference/runtime/graph-session.ts'
import { openOnnxSession } from '../../inference/runtime/onnx-session.ts'
import { must } from '../../lib/assert.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { embedderGraph } from '../harness/model-graphs.ts'

const ENCODINGS = [
  { ids: [2, 4, 5, 3], typeIds: [0, 0, 1, 1] },
  { ids: [2, 3], typeIds: [0, 1] },
]

function slots(type: 'int64' | 'int32'): GraphSlot[] {
  const names = ['input_ids', 'attention_mask', 'token_type_ids', 'position_ids', 'other']
  return names.map((name) => ({ name, type, dims: [undefined, undefined] }))
}

function numbersOf(side: 'left' | 'right', type: 'int64' | 'int32'): Record<string, number[]> {
  const feeds = buildTokenFeeds(slots(type), ENCODINGS, { padId: 9, paddingSide: side })
  return Object.fromEntries(
    Object.entries(feeds).map(([name, { data }]) => [name, Array.from(data, Number)]),
  )
}

describe('token feeds', () => {
  for (const type of ['int64', 'int32'] as const) {
    it(`are padded on the right, as ${type}`, () => {
      expect(numbersOf('right', type)).to.deep.equal({
        input_ids: [2, 4, 5, 3, 2, 3, 9, 9],
        attention_mask: [1, 1, 1, 1, 1, 1, 0, 0],
        token_type_ids: [0, 0, 1, 1, 0, 1, 0, 0],
        position_ids: [0, 1, 2, 3, 0, 1, 0, 0],
      })
    })
  }

  it('are padded on the left, where positions begin with the text', () => {
    expect(numbersOf('left', 'int64')).to.deep.equal({
      input_ids: [2, 4, 5, 3, 9, 9, 2, 3],
      attention_mask: [1, 1, 1, 1, 0, 0, 1, 1],
      token_type_ids: [0, 0, 1, 1, 0, 0, 0, 1],
      position_ids: [0, 1, 2, 3, 0, 0, 0, 1],
    })
  })

  it('hold an empty past for a decoder that embeds', () => {
    const past: GraphSlot = {
      name: 'past_key_values.0.key',
      type: 'float32',
      dims: [undefined, 2, undefined, 8],
    }

    const feeds = buildTokenFeeds([past], ENCODINGS, { padId: 0, paddingSide: 'right' })

    expect(feeds[past.name]?.dims).to.deep.equal([2, 2, 0, 8])
  })

  it('carry floats in the width that the graph declares', () => {
    const slot: GraphSlot = { name: 'x', type: 'float16', dims: [] }

    const tensor = floatTensor(slot, [3], Float32Array.of(0.5, -2, 65_504))

    expect(tensor.type).to.equal('float16')
    expect([...floatsOf(tensor)]).to.deep.equal([0.5, -2, 65_504])
  })
})

describe('an ONNX session', () => {
  let folder: string
  let session: GraphSession

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-session-'))
    const file = path.join(folder, 'model.onnx')
    await writeFile(file, embedderGraph())
    session = await openOnnxSession(file, { threads: 1 })
  })

  afterEach(async () => {
    await session.release()
    await rm(folder, { recursive: true })
  })

  const feed = (ids: readonly number[]) =>
    buildTokenFeeds(session.inputs, [{ ids, typeIds: ids.map(() => 0) }], {
      padId: 0,
      paddingSide: 'right',
    })

  it('tells its inputs and outputs, with the sizes that are fixed', () => {
    expect(session.inputs[0]).to.deep.equal({
      name: 'input_ids',
      type: 'int64',
      dims: [undefined, undefined],
    })
    expect(session.outputs[0]?.dims).to.deep.equal([undefined, undefined, 4])
  })

  it('runs, and answers the outputs that are wanted', async () => {
    const { last_hidden_state: states } = await session.run(feed([2, 4]), ['last_hidden_state'])

    const tensor = must(states, 'the wanted output')
    expect(tensor.dims).to.deep.equal([1, 2, 4])
    expect([...floatsOf(tensor)]).to.deep.equal([2, 1, -2, 1, 4, 1, -4, 4])
  })

  it('refuses an id out of range, and serves on', async () => {
    const refused = await session.run(feed([99])).catch((error: ServiceError) => error)

    expect(refused).to.have.property('code', 'INFERENCE_FAILED')
    expect(Object.keys(await session.run(feed([2])))).to.deep.equal(['last_hidden_state'])
  })

  it('may be released twice, and is not run after that', async () => {
    await session.release()
    await session.release()

    const failure = await session.run(feed([2])).catch((error: Error) => error.name)
    expect(failure).to.equal('InvariantError')
  })

  it('says what is wrong with a file that is no graph', async () => {
    const file = path.join(folder, 'torn.onnx')
    await writeFile(file, 'not a graph')

    const failure = await openOnnxSession(file, { threads: 1 }).catch(
      (error: ServiceError) => error,
    )

    expect(failure).to.have.property('code', 'UNAVAILABLE')
    expect(failure).to.have.property('message').that.includes('cannot be loaded')
  })
})
