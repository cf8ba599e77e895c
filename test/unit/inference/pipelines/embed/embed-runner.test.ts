import { expect } from 'chai'
import sharp from 'sharp'
import { parseImageRecipe } from '../../../../../inference/media/image-recipe.ts'
import type { EmbedderSpec } from '../../../../../inference/models/model-spec.ts'
import type { EmbedItem } from '../../../../../inference/pipelines/embed/embed-item.ts'
import { openEmbedRunner } from '../../../../../inference/pipelines/embed/embed-runner.ts'
import type { EmbedRunner } from '../../../../../inference/pipelines/embed/embed-runner.ts'
import type { GraphSession } from '../../../../../inference/runtime/graph-session.ts'
import { describeModelRunner } from '../../../../conformance/model-runner.ts'
import { ScriptedGraph, floats, slot } from '../../../../support/fakes/scripted-graph.ts'
import {
  SPEC_BASE,
  runSignal,
  withRunnerParts,
} from '../../../../support/inference/runner-parts.ts'
import {
  imageTowerGraph,
  projectionGraph,
  textTowerGraph,
} from '../../../../support/inference/tower-graphs.ts'

/** Images as they are, whose means have the numbers of texts beside a zero. */
const SPEC: EmbedderSpec = {
  ...SPEC_BASE,
  kind: 'embedder',
  text: {
    graphFile: 'text.onnx',
    pooling: 'mean',
    isPoolingGuessed: false,
    laterModule: undefined,
    projectionFile: undefined,
    isPaddedToMax: false,
    hasAlignedRows: false,
  },
  image: {
    graphFile: 'image.onnx',
    projectionFile: 'projection.onnx',
    recipe: parseImageRecipe({ do_normalize: false, crop_size: 4, size: 4 }),
  },
  prompts: {},
  defaultPrompt: undefined,
}

/** Four numbers in another order: texts have a projection too. */
const SPEC_OF_PROJECTED_TEXTS = { ...SPEC.text, projectionFile: 'text-projection.onnx' }

const FILES = {
  'text.onnx': textTowerGraph(),
  'text-projection.onnx': projectionGraph([
    [0, 1, 0, 0],
    [1, 0, 0, 0],
    [0, 0, 0, 1],
    [0, 0, 1, 0],
  ]),
  'image.onnx': imageTowerGraph(),
  'projection.onnx': projectionGraph([
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
  ]),
}

interface Setting {
  readonly spec?: EmbedderSpec
  /** In place of the graphs' sessions. */
  readonly open?: (file: string) => GraphSession | undefined
}

async function withRunner(
  { spec = SPEC, open }: Setting,
  use: (runner: EmbedRunner) => Promise<void>,
): Promise<void> {
  await withRunnerParts<EmbedderSpec>({ spec, files: FILES }, async (parts) => {
    const openSession = async (file: string) => open?.(file) ?? parts.openSession(file)
    const runner = await openEmbedRunner({ ...parts, openSession })
    await use(runner)
    await runner.dispose()
  })
}

const RED = await plain('#ff0000')
const GREEN = await plain('#00ff00')

function text(words: string, truncate = true): EmbedItem {
  return { kind: 'text', text: words, truncate }
}

describe('embed runner of two towers', () => {
  describeModelRunner('embed runner', {
    parts: { spec: { ...SPEC, maxTokens: 8, text: SPEC_OF_PROJECTED_TEXTS }, files: FILES },
    open: openEmbedRunner,
    served: [
      text('foo'),
      { kind: 'image', bytes: RED },
      text('hello worlds'),
      text(''),
      text('bar foo '.repeat(300)),
      { kind: 'image', bytes: GREEN },
      text('\ud800 world', false),
    ],
    refused: [text('hello '.repeat(7), false), { kind: 'image', bytes: GREEN.subarray(0, 40) }],
  })

  it('answers texts and images in their order, and refuses each separately', async () => {
    const items: EmbedItem[] = [
      { kind: 'image', bytes: RED },
      text('foo'),
      { kind: 'image', bytes: GREEN.subarray(0, 40) },
      { kind: 'image', bytes: GREEN },
    ]

    await withRunner({}, async (runner) => {
      const outcomes = await runner.run(items, runSignal())

      expect(runner.dimension).to.equal(4)
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['done', 'done', 'refused', 'done'])
      const [red, foo, , last] = outcomes.map((outcome) =>
        outcome.kind === 'done' ? outcome.result : undefined,
      )
      expect([...red!.vector]).to.deep.equal([1, 0, 0, 0])
      expect([...last!.vector]).to.deep.equal([0, 1, 0, 0])
      expect([red!.tokens, foo!.tokens]).to.deep.equal([0, 3])
    })
  })

  it('feeds pixel_values at any place among the inputs, and pools the class token', async () => {
    const image = new ScriptedGraph(
      {
        inputs: [slot('pixel_values', 'float16')],
        outputs: [slot('last_hidden_state', 'float32')],
      },
      () => ({ last_hidden_state: floats([1, 2, 3], [0, 0, 5, 9, 9, 9]) }),
    )
    const open = (file: string) => (file === 'image.onnx' ? image : undefined)

    await withRunner({ open }, async (runner) => {
      const [outcome] = await runner.run(
        [{ kind: 'image', bytes: await plain('#ffffff') }],
        runSignal(),
      )

      const vector = Float32Array.of(0, 0, 1, 0)
      expect(outcome).to.deep.equal({ kind: 'done', result: { vector, tokens: 0, isCut: false } })
    })
    // Once at the load, with black.
    expect(image.feeds.map((feeds) => feeds['pixel_values']!.dims)).to.deep.equal([
      [1, 3, 4, 4],
      [1, 3, 4, 4],
    ])
    expect(image.isReleased).to.equal(true)
  })

  it('pads every text to the limit where the model was trained so', async () => {
    const tower = new ScriptedGraph(
      { inputs: [slot('input_ids', 'int64')], outputs: [slot('pooler_output', 'float32')] },
      (feeds) => {
        const [rows = 0] = feeds['input_ids']!.dims
        const ones = Array.from({ length: 4 * rows }, () => 1)
        return { pooler_output: floats([rows, 4], ones) }
      },
    )
    const open = (file: string) => (file === 'text.onnx' ? tower : undefined)
    const spec = { ...SPEC, maxTokens: 8, text: { ...SPEC.text, isPaddedToMax: true } }

    await withRunner({ spec, open }, async (runner) => {
      await runner.run([text('foo'), text('hello worlds')], runSignal())
    })

    const [, { input_ids: ids } = {}] = tower.feeds
    expect(ids!.dims).to.deep.equal([2, 8])
    expect(Array.from(ids!.data, Number)).to.deep.equal(
      [2, 7, 3, 0, 0, 0, 0, 0].concat([2, 4, 5, 6, 3, 0, 0, 0]),
    )
  })

  it('releases every session when one of them does not fit', async () => {
    const opened: ScriptedGraph[] = []
    const open = (): GraphSession => {
      const graph = new ScriptedGraph(
        { inputs: [slot('sound', 'float32')], outputs: [slot('x', 'float32')] },
        () => ({}),
      )
      opened.push(graph)
      return graph
    }

    const error = await withRunner({ open }, async () => undefined).catch(
      (caught: unknown) => caught,
    )

    expect(error).to.have.property('message', 'the graph of images takes no pixel_values')
    expect(opened.map(({ isReleased }) => isReleased)).to.deep.equal([true, true, true])
  })
})

function plain(background: string): Promise<Buffer> {
  return sharp({ create: { width: 8, height: 8, channels: 3, background } })
    .png()
    .toBuffer()
}
