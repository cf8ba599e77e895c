import { buildQuestions } from '../../../../../inference/pipelines/recognize/gliner-recognizer.ts'
import { expect } from 'chai'
import type { RecognizerModel, RecognizerSpec } from '../../../../../inference/models/model-spec.ts'
import type { ModelRunner } from '../../../../../inference/pipelines/model-runner.ts'
import { costOfRecognizeItem } from '../../../../../inference/pipelines/recognize/recognize-item.ts'
import type {
  RecognizeItem,
  RecognizeResult,
} from '../../../../../inference/pipelines/recognize/recognize-item.ts'
import { openRecognizeRunner } from '../../../../../inference/pipelines/recognize/recognize-runner.ts'
import type { GraphSession, GraphTensor } from '../../../../../inference/runtime/graph-session.ts'
import { describeModelRunner } from '../../../../conformance/model-runner.ts'
import { ScriptedGraph, floats, slot } from '../../../../support/fakes/scripted-graph.ts'
import { NER_LABELS, tinyTokenizer } from '../../../../support/inference/model-directories.ts'
import {
  glinerSpanGraph,
  tokenClassifierGraph,
} from '../../../../support/inference/model-graphs.ts'
import {
  SPEC_BASE,
  resultsOf,
  runSignal,
  withRunnerParts,
} from '../../../../support/inference/runner-parts.ts'
import type { PartsOptions } from '../../../../support/inference/runner-parts.ts'

type Runner = ModelRunner<RecognizeItem, RecognizeResult>

interface Setting {
  readonly model: RecognizerModel
  readonly graph?: Uint8Array
  readonly tokenizer?: object
  readonly maxTokens?: number
  readonly paddingSide?: 'left' | 'right'
  readonly capabilities?: RecognizerSpec['capabilities']
  /** In place of the graphs' sessions. */
  readonly open?: (file: string) => GraphSession
  readonly wrap?: (session: GraphSession) => GraphSession
}

function partsOf(setting: Setting): PartsOptions<RecognizerSpec> {
  const { model, graph, tokenizer, maxTokens = 512, capabilities = ['labels'] } = setting
  return {
    spec: { ...SPEC_BASE, kind: 'recognizer', model, capabilities, maxTokens },
    files: graph === undefined ? {} : { 'model.onnx': graph },
    ...(tokenizer === undefined ? {} : { tokenizer }),
    tokenizerConfig: { pad_token: '[PAD]', padding_side: setting.paddingSide ?? 'right' },
  }
}

async function withRunner(setting: Setting, use: (runner: Runner) => Promise<void>): Promise<void> {
  await withRunnerParts(partsOf(setting), async (parts) => {
    const openSession = async (file: string): Promise<GraphSession> => {
      const session = setting.open?.(file) ?? (await parts.openSession(file))
      return setting.wrap?.(session) ?? session
    }
    const runner = await openRecognizeRunner({ ...parts, openSession })
    await use(runner)
    await runner.dispose()
  })
}

function itemOf(item: Partial<RecognizeItem>): RecognizeItem {
  return { text: '', labels: [], relationLabels: [], ...item }
}

async function recognize(setting: Setting, ...items: Partial<RecognizeItem>[]) {
  let results: RecognizeResult[] = []
  await withRunner(setting, async (runner) => {
    results = resultsOf(await runner.run(items.map(itemOf), runSignal()))
  })
  return results
}

const NER_TABLE = { 10: 1, 11: 3, 12: 4, 13: 5 }
const NER: Setting = {
  model: { type: 'token-classifier', graphFile: 'model.onnx', labels: NER_LABELS },
  graph: tokenClassifierGraph(NER_LABELS.length, NER_TABLE),
}
const SENTENCE = 'Alice works at Acme Corp in Paris.'

function briefly({ entities }: RecognizeResult) {
  return entities.map(({ label, start, end, text }) => [label, start, end, text])
}

describe('recognize runner of a token classifier', () => {
  describeModelRunner('recognize runner of a token classifier', {
    parts: partsOf({ ...NER, maxTokens: 16 }),
    open: openRecognizeRunner,
    served: [
      { text: SENTENCE },
      { text: SENTENCE, labels: ['org'] },
      { text: '' },
      { text: `${SENTENCE} `.repeat(5) },
      { text: `${SENTENCE} `.repeat(5), labels: ['LOC'] },
      { text: '\ud800 Alices' },
    ].map(itemOf),
    refused: [itemOf({ text: SENTENCE, relationLabels: ['works at'] })],
  })

  it('finds entities with their places and scores', async () => {
    const [result] = await recognize(NER, { text: SENTENCE })

    expect(briefly(result!)).to.deep.equal([
      ['PER', 0, 5, 'Alice'],
      ['ORG', 15, 24, 'Acme Corp'],
      ['LOC', 28, 33, 'Paris'],
    ])
    for (const { score } of result!.entities) expect(score).to.be.closeTo(0.90098708, 1e-6)
  })

  it('counts places in UTF-16 code units', async () => {
    const [result] = await recognize(NER, { text: `\u{1F600} ${SENTENCE}` })

    expect(briefly(result!).map(([, start]) => start)).to.deep.equal([3, 18, 31])
  })

  it('takes the whole word whose first token is an entity', async () => {
    const [result] = await recognize(NER, { text: 'Alices' })

    expect(briefly(result!)).to.deep.equal([['PER', 0, 6, 'Alices']])
  })

  for (const paddingSide of ['left', 'right'] as const) {
    it(`finds the same in windows of a long text, padded on the ${paddingSide}`, async () => {
      const texts = [`${SENTENCE} `.repeat(20), SENTENCE, 'foo']
      const items = texts.map((text) => ({ text }))
      const whole = await recognize(NER, ...items)
      const windowed = await recognize({ ...NER, maxTokens: 16, paddingSide }, ...items)

      expect(whole[0]!.entities).to.have.length(60)
      expect(windowed.map(briefly)).to.deep.equal(whole.map(briefly))
    })

    it(`finds the same by graphs of fixed sizes, padded on the ${paddingSide}`, async () => {
      const items = [{ text: `${SENTENCE} `.repeat(5) }, { text: SENTENCE }]
      const whole = await recognize(NER, ...items)

      for (const sizes of [{ length: 16 }, { batch: 1, length: 16 }, { batch: 3, length: 16 }]) {
        const graph = tokenClassifierGraph(NER_LABELS.length, NER_TABLE, sizes)
        const found = await recognize({ ...NER, graph, paddingSide }, ...items)
        expect(found.map(briefly)).to.deep.equal(whole.map(briefly))
      }
    })
  }

  it('leaves out labels that are not asked for', async () => {
    const [result] = await recognize(NER, { text: SENTENCE, labels: ['org'] })

    expect(briefly(result!)).to.deep.equal([['ORG', 15, 24, 'Acme Corp']])
  })

  it('answers no entities for an empty text', async () => {
    expect(await recognize(NER, { text: '' })).to.deep.equal([{ entities: [], relations: [] }])
  })
})

const GLINER_SETTINGS = {
  type: 'gliner',
  graphFile: 'model.onnx',
  spanMode: 'span',
  maxWidth: 3,
  maxWords: 384,
  entityToken: '<<ENT>>',
  separatorToken: '<<SEP>>',
  threshold: 0.5,
  flat: true,
  multiLabel: false,
  defaultLabels: [],
  relationThreshold: 0.5,
} as const

const GLINER: Setting = {
  model: GLINER_SETTINGS,
  graph: glinerSpanGraph(),
  tokenizer: tinyTokenizer(['a', 'b', '<<ENT>>', '<<SEP>>']),
}
const WORKS = { text: 'Alice works in Paris', labels: ['a', 'b'] }

function gliner(changes: object): Setting {
  return { ...GLINER, model: { ...GLINER_SETTINGS, ...changes } }
}

describe('recognize runner of a GLiNER', () => {
  describeModelRunner('recognize runner of a GLiNER', {
    parts: partsOf({
      ...gliner({ maxWords: 8, flat: false }),
      maxTokens: 40,
      capabilities: ['labels', 'zeroshot', 'relations'],
    }),
    open: openRecognizeRunner,
    served: [
      WORKS,
      { ...WORKS, labels: ['b', 'a'] },
      { ...WORKS, text: 'foo bar' },
      { ...WORKS, text: '' },
      { ...WORKS, text: 'foo '.repeat(20) },
      { ...WORKS, text: 'Paris works', relationLabels: ['at'] },
    ].map(itemOf),
    refused: [
      itemOf({ text: WORKS.text }),
      itemOf({ ...WORKS, labels: Array.from({ length: 40 }, (_, index) => `foo${index}`) }),
      // What the model finds in it is too long to be asked for.
      itemOf({ ...WORKS, text: `foo${'s'.repeat(60)}`, relationLabels: ['at'] }),
    ],
  })

  it('finds the best spans for the given labels', async () => {
    const [result] = await recognize(GLINER, WORKS)

    expect(briefly(result!)).to.deep.equal([
      ['a', 0, 5, 'Alice'],
      ['b', 12, 20, 'in Paris'],
    ])
    for (const { score } of result!.entities) expect(score).to.be.closeTo(0.98201379, 1e-6)
  })

  for (const paddingSide of ['left', 'right'] as const) {
    it(`finds the same by a graph of fixed sizes, padded on the ${paddingSide}`, async () => {
      const items = [WORKS, { ...WORKS, text: 'Paris works' }, { ...WORKS, text: 'Alice' }]
      const graph = glinerSpanGraph({ batch: 2, length: 32 })

      expect(await recognize({ ...GLINER, graph, paddingSide }, ...items)).to.deep.equal(
        await recognize(GLINER, ...items),
      )
    })
  }

  it("keeps nested spans if the model's configuration says so", async () => {
    const [result] = await recognize(gliner({ flat: false }), WORKS)

    expect(briefly(result!)).to.deep.equal([
      ['a', 0, 5, 'Alice'],
      ['a', 0, 11, 'Alice works'],
      ['b', 12, 14, 'in'],
      ['b', 12, 20, 'in Paris'],
    ])
  })

  it('keeps what is above the threshold', async () => {
    const [result] = await recognize(gliner({ flat: false, threshold: 0.8 }), WORKS)

    expect(result!.entities).to.have.length(2)
  })

  it('uses each label once, and those of the model where none are given', async () => {
    const doubled = await recognize(GLINER, { ...WORKS, labels: ['a', 'b', 'a'] })
    const own = await recognize(gliner({ defaultLabels: ['a', 'b'] }), { ...WORKS, labels: [] })

    expect(doubled).to.deep.equal(await recognize(GLINER, WORKS))
    expect(own).to.deep.equal(doubled)
  })

  it('feeds the inputs that such graphs are exported with', async () => {
    const seen: Readonly<Record<string, GraphTensor>>[] = []
    const item = { text: 'hello worlds foo .', labels: ['hello', 'foo corp'] }
    await recognize({ ...GLINER, wrap: (session) => recording(session, seen) }, item)

    const values = (name: string) => Array.from(seen[0]![name]!.data, Number)
    expect(values('input_ids')).to.deep.equal([2, 20, 4, 20, 7, 12, 21, 4, 5, 6, 7, 9, 3])
    expect(values('words_mask')).to.deep.equal([0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 3, 4, 0])
    expect(values('text_lengths')).to.deep.equal([4])
    expect(seen[0]!['span_idx']!.dims).to.deep.equal([1, 12, 2])
    expect(values('span_idx').slice(-6)).to.deep.equal([3, 3, 3, 4, 3, 5])
    expect(values('span_mask')).to.deep.equal([1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0])
  })

  it('searches every window of a long text', async () => {
    // The graph knows spans by their number in the window: a begins with word 0, b with word 2.
    const text = Array.from({ length: 20 }, () => 'foo').join(' ')
    const [result] = await recognize(gliner({ maxWords: 8, flat: false, threshold: 0.9 }), {
      text,
      labels: ['a', 'b'],
    })

    // Windows begin at the words 0, 6 and 12; each has its own second word behind the border.
    const words = result!.entities.map(({ label, start }) => `${label}${start / 4}`)
    expect(words).to.deep.equal(['a0', 'b2', 'b8', 'b14'])
  })

  it('looks for relations among the surest entities where there are too many', () => {
    const entities = Array.from({ length: 300 }, (_, index) => {
      const text = `e${index}`
      return { text, label: 'a', start: index * 5, end: index * 5 + 4, score: (index % 100) / 100 }
    })
    const relationLabels = ['knows', 'owns', 'knows']

    const questions = buildQuestions({ relationLabels }, entities)

    expect(questions).to.have.length(512)
    const heads = questions.map(({ head }) => head)
    expect(Math.min(...heads.map(({ score }) => score))).to.be.at.least(0.14)
    expect(heads.map(({ start }) => start)).to.deep.equal(
      heads.map(({ start }) => start).toSorted((a, b) => a - b),
    )
  })

  it('asks for the tails of relations by the texts of entities', async () => {
    const graph = relationGraph()
    const setting: Setting = {
      ...GLINER,
      capabilities: ['labels', 'zeroshot', 'relations'],
      open: () => graph,
    }
    const [result] = await recognize(setting, {
      text: 'Alice works at Acme',
      labels: ['a'],
      relationLabels: ['works'],
    })

    expect(briefly(result!)).to.deep.equal([
      ['a', 0, 5, 'Alice'],
      ['a', 15, 19, 'Acme'],
    ])
    const [relation] = result!.relations
    expect(result!.relations).to.have.length(1)
    expect(relation).to.deep.include({ label: 'works' })
    expect(relation!.head.text).to.equal('Alice')
    expect(relation!.tail).to.deep.equal(result!.entities[1])
    // The prefix of seven words and a colon stands before the text, and counts as words.
    expect(Number(graph.feeds[1]!['text_lengths']!.data[0])).to.equal(4 + 8)
  })

  it('estimates the cost from the text and its labels', () => {
    const item = { text: 'a'.repeat(400), labels: ['abcd', 'abcd'], relationLabels: [] }
    expect(costOfRecognizeItem(item)).to.equal(106)
  })
})

function recording(
  session: GraphSession,
  seen: Readonly<Record<string, GraphTensor>>[],
): GraphSession {
  return {
    inputs: session.inputs,
    outputs: session.outputs,
    run: (feeds, wanted) => {
      seen.push(feeds)
      return session.run(feeds, wanted)
    },
    release: () => session.release(),
  }
}

/** First finds the words 0 and 3; asked with a prefix of 8 words, the last word for question 0. */
function relationGraph(): ScriptedGraph {
  const names = ['input_ids', 'words_mask', 'text_lengths', 'span_idx']
  const inputs = [...names.map((name) => slot(name, 'int64')), slot('span_mask', 'bool')]
  return new ScriptedGraph({ inputs, outputs: [slot('logits', 'float32')] }, (feeds) => {
    const words = Number(feeds['text_lengths']!.data[0])
    const labels = Array.from(feeds['input_ids']!.data, Number).filter((id) => id === 20).length
    const values = Array.from({ length: words * 3 * labels }, () => -9)
    for (const word of words === 4 ? [0, 3] : [11]) values[word * 3 * labels] = 4
    return { logits: floats([1, words, 3, labels], values) }
  })
}

describe('recognize runner of a REBEL', () => {
  const tokens = [
    '<triplet>',
    'paris',
    '<subj>',
    'alice',
    '<obj>',
    'works',
    'in',
    '<triplet>',
    'paris',
    '<subj>',
    'foo',
    '<obj>',
    'at',
    '[SEP]',
  ]
  const tokenizer = tinyTokenizer(['<triplet>', '<subj>', '<obj>'])
  const ids: Record<string, number> = {
    paris: 13,
    alice: 10,
    works: 14,
    in: 16,
    foo: 7,
    at: 15,
    '[SEP]': 3,
    '<triplet>': 18,
    '<subj>': 19,
    '<obj>': 20,
  }
  const setting: Setting = {
    model: {
      type: 'rebel',
      maxLength: 40,
      seq2seq: {
        encoderFile: 'encoder.onnx',
        decoder: { type: 'pair', firstFile: 'first.onnx', laterFile: 'later.onnx' },
        startId: 0,
        eosIds: [3],
        headCount: 1,
        headSize: 1,
        layerCount: 1,
      },
    },
    tokenizer,
    capabilities: ['relations'],
    open: (file) =>
      scriptedGraph(
        file,
        tokens.map((token) => ids[token]!),
      ),
  }

  describeModelRunner('recognize runner of a REBEL', {
    parts: partsOf(setting),
    open: openRecognizeRunner,
    script: setting.open!,
    served: [
      { text: 'Alice works in Paris.' },
      { text: 'Paris' },
      { text: 'Alice', relationLabels: ['AT'] },
      { text: '' },
      { text: 'Alice works in Paris, foo '.repeat(200) },
    ].map(itemOf),
    refused: [],
  })

  it("reads relations from the model's output, and finds them in the text", async () => {
    const [result] = await recognize(setting, { text: 'Alice works in Paris.' })

    expect(briefly(result!)).to.deep.equal([
      ['ENTITY', 15, 20, 'Paris'],
      ['ENTITY', 0, 5, 'Alice'],
      ['ENTITY', -1, -1, 'foo'],
    ])
    expect(
      result!.relations.map(({ head, tail, label }) => [head.text, label, tail.text]),
    ).to.deep.equal([
      ['Paris', 'works in', 'Alice'],
      ['Paris', 'at', 'foo'],
    ])
    for (const { score } of result!.relations) expect(score).to.be.within(0.9, 1)
  })

  it('keeps only the requested relations', async () => {
    const [result] = await recognize(setting, { text: 'Alice', relationLabels: ['AT'] })

    expect(result!.relations.map(({ label }) => label)).to.deep.equal(['at'])
  })
})

/** A decoder that writes the script; its cache is as long as what it has written. */
function scriptedGraph(file: string, script: readonly number[]): ScriptedGraph {
  const past = 'past_key_values.0.decoder.key'
  const ids = slot('input_ids', 'int64')
  if (file === 'encoder.onnx') {
    const outputs = [slot('last_hidden_state', 'float32')]
    return new ScriptedGraph({ inputs: [ids], outputs }, () => ({
      last_hidden_state: floats([1, 1, 1], [0]),
    }))
  }
  const inputs = file === 'later.onnx' ? [ids, slot(past, 'float32')] : [ids]
  const outputs = ['logits', 'present.0.decoder.key'].map((name) => slot(name, 'float32'))
  return new ScriptedGraph({ inputs, outputs }, (feeds) => {
    const rows = feeds['input_ids']!.dims[0]!
    const length = feeds[past]?.dims[2] ?? 0
    const row = Array.from({ length: 21 }, (_, id) => (id === (script[length] ?? 3) ? 9 : -9))
    const logits = Array.from({ length: rows }, () => row).flat()
    const cache = Array.from({ length: rows * (length + 1) }, () => 0)
    return {
      logits: floats([rows, 1, 21], logits),
      'present.0.decoder.key': floats([rows, 1, length + 1, 1], cache),
    }
  })
}
