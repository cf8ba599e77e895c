import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { openOnnxSession } from '../../../../inference/runtime/onnx-session.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { describeGraphSession } from '../../../conformance/graph-session.ts'
import { ScriptedGraph, floats, slot } from '../../../support/fakes/scripted-graph.ts'
import type { Feeds } from '../../../support/fakes/scripted-graph.ts'
import { errorOf } from '../../../support/error-of.ts'
import { VOCABULARY_SIZE } from '../../../support/inference/model-graphs.ts'
import { textTowerGraph } from '../../../support/inference/tower-graphs.ts'

describe('an ONNX session', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-session-'))
  })
  after(() => rm(folder, { recursive: true }))

  async function write(content: Uint8Array | string): Promise<string> {
    const file = path.join(folder, 'model.onnx')
    await writeFile(file, content)
    return file
  }

  describeGraphSession('OnnxSession', async () =>
    openOnnxSession(await write(textTowerGraph()), { threads: 1 }),
  )

  it('refuses a file that is not a graph, with the reason', async () => {
    const file = await write('not a graph')

    const failure = await errorOf(() => openOnnxSession(file, { threads: 1 }))

    expect(failure).to.have.property('code', 'UNAVAILABLE')
    expect(failure).to.have.property('message').that.includes('cannot be loaded')
  })
})

describeGraphSession('ScriptedGraph', () => Promise.resolve(scriptedTower()))

/** What `textTowerGraph` computes, by its formula. */
function scriptedTower(): ScriptedGraph {
  const any = [undefined, undefined]
  const inputs = ['input_ids', 'attention_mask'].map((name) => slot(name, 'int64', any))
  const outputs = [
    slot('last_hidden_state', 'float32', [...any, 4]),
    slot('pooler_output', 'float32', [undefined, 4]),
  ]
  return new ScriptedGraph(
    { inputs, outputs },
    ({ input_ids: ids, attention_mask: mask }: Feeds) => {
      const values = Array.from(ids!.data, Number)
      const isKnown = values.every((id) => id >= 0 && id < VOCABULARY_SIZE)
      if (!isKnown || String(ids!.dims) !== String(mask!.dims)) {
        throw new ServiceError('INFERENCE_FAILED', 'the graph failed')
      }
      const states = values.map((id) => [id, 1, -id, (id * id) / 4])
      const pooled = [0, 1, 2, 3].map((column) =>
        Math.max(...states.map((state) => state[column]!)),
      )
      return {
        last_hidden_state: floats([...ids!.dims, 4], states.flat()),
        pooler_output: floats([1, 4], pooled),
      }
    },
  )
}
