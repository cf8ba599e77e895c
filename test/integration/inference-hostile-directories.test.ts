// Models whose files or answers are wrong in every way we could think of: each is refused with a reason
// that tells no secrets, in no time, and costs no worker.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, rm, truncate } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import {
  float32,
  int64,
  node,
  ONNX_TYPE,
  valueInfo,
  writeOnnxModel,
} from '../support/onnx/onnx-graph-writer.ts'
import type { GraphNode, ValueInfo } from '../support/onnx/onnx-graph-writer.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import {
  tinyTokenizer,
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyGliner,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import type { ModelFile } from '../support/inference/model-directories.ts'
import { until } from '../support/until.ts'

type Kind = 'embedders' | 'recognizers' | 'gliners' | 'rerankers' | 'rewriters' | 'generators'

interface Row {
  readonly kind: Kind
  /** Written over the files of a directory that was right. */
  readonly files?: Readonly<Record<string, ModelFile>>
  /** Done to it afterwards. */
  readonly spoil?: (directory: string) => unknown
  readonly code: 'UNAVAILABLE' | 'INFERENCE_FAILED' | 'INVALID_ARGUMENT'
  readonly reason: RegExp
}

const MESSAGE_LENGTH_MAX = 2_100
const IDS = valueInfo('input_ids', 'int64', ['b', 's'])

/** The ids as floats [b, s, 1] called `u`, and whatever `nodes` make of them. */
function graph(nodes: readonly GraphNode[], output: ValueInfo, input = IDS): Uint8Array {
  return writeOnnxModel({
    nodes: [
      node('Cast', ['input_ids'], ['f'], { to: ONNX_TYPE.float32 }),
      node('Unsqueeze', ['f', 'two'], ['u']),
      ...nodes,
    ],
    initializers: [
      int64('zero', [1], [0]),
      int64('two', [1], [2]),
      float32('nan', [], [Number.NaN]),
      float32('infinity', [], [Number.POSITIVE_INFINITY]),
    ],
    inputs: [input],
    outputs: [output],
  })
}

const states = (dims: readonly (number | string)[]) =>
  valueInfo('last_hidden_state', 'float32', dims)
const logits = (dims: readonly (number | string)[]) => valueInfo('logits', 'float32', dims)
const copied = (name: string) => [node('Identity', ['u'], [name])]
const firstAlone = (name: string) => [node('ReduceMax', ['u'], [name], { axes: [1], keepdims: 1 })]
const fixedBatch = (size: number) =>
  graph(
    copied('last_hidden_state'),
    states([size, 's', 1]),
    valueInfo('input_ids', 'int64', [size, 's']),
  )

function tokenizerWith(fields: object): object {
  return { ...tinyTokenizer(), ...fields }
}

function layoutOf(parts: readonly object[], ids: readonly number[]): object {
  const special = { id: '[CLS]', ids, tokens: ['[CLS]'] }
  const first = { Sequence: { id: 'A', type_id: 0 } }
  const second = { Sequence: { id: 'B', type_id: 0 } }
  return tokenizerWith({
    post_processor: {
      type: 'TemplateProcessing',
      single: parts,
      pair: [first, second],
      special_tokens: { '[CLS]': special },
    },
  })
}

const TEXT = { Sequence: { id: 'A', type_id: 0 } }
const CLS = { SpecialToken: { id: '[CLS]', type_id: 0 } }
const LONG = 'x'.repeat(3_000_000)

const ROWS: Readonly<Record<string, Row>> = {
  'a graph of batches of no rows': {
    kind: 'embedders',
    files: { 'model.onnx': fixedBatch(0) },
    code: 'UNAVAILABLE',
    reason: /batches of 0 rows/,
  },
  'a graph of batches of a billion rows': {
    kind: 'embedders',
    files: { 'model.onnx': fixedBatch(1_000_000_000) },
    code: 'UNAVAILABLE',
    reason: /batches of 1000000000 rows/,
  },
  'a graph that answers one state for all tokens': {
    kind: 'embedders',
    files: { 'model.onnx': graph(firstAlone('last_hidden_state'), states(['b', 1, 1])) },
    code: 'UNAVAILABLE',
    reason: /too few tokens/,
  },
  'a graph that answers vectors of nothing': {
    kind: 'embedders',
    files: {
      'model.onnx': graph(
        [node('Slice', ['u', 'zero', 'zero', 'two'], ['last_hidden_state'])],
        states(['b', 's', 0]),
      ),
    },
    code: 'UNAVAILABLE',
    reason: /vectors of 0 numbers/,
  },
  'a graph whose vectors are as long as the text': {
    kind: 'embedders',
    files: {
      'model.onnx': graph(
        [node('Identity', ['f'], ['sentence_embedding'])],
        valueInfo('sentence_embedding', 'float32', ['b', 's']),
      ),
    },
    code: 'INFERENCE_FAILED',
    reason: /size differs/,
  },
  'no graph in the file': {
    kind: 'embedders',
    files: { 'model.onnx': '' },
    code: 'UNAVAILABLE',
    reason: /model\.onnx failed: ?ModelProto does not have a graph/,
  },
  'a reranker that answers no number': {
    kind: 'rerankers',
    files: {
      'model.onnx': graph(
        [
          node('ReduceMax', ['f'], ['m'], { axes: [1], keepdims: 1 }),
          node('Add', ['m', 'nan'], ['logits']),
        ],
        logits(['b', 1]),
      ),
    },
    code: 'INFERENCE_FAILED',
    reason: /not a finite number/,
  },
  'a classifier that answers no number': {
    kind: 'recognizers',
    files: {
      'model.onnx': graph([node('Add', ['u', 'nan'], ['logits'])], logits(['b', 's', 1])),
    },
    code: 'INFERENCE_FAILED',
    reason: /not finite numbers/,
  },
  'a classifier that answers infinity': {
    kind: 'recognizers',
    files: {
      'model.onnx': graph([node('Add', ['u', 'infinity'], ['logits'])], logits(['b', 's', 1])),
    },
    code: 'INFERENCE_FAILED',
    reason: /not finite numbers/,
  },
  'a classifier that answers for the first token alone': {
    kind: 'recognizers',
    files: { 'model.onnx': graph(firstAlone('logits'), logits(['b', 1, 1])) },
    code: 'INFERENCE_FAILED',
    reason: /too few tokens/,
  },
  'a span model that answers no number': {
    kind: 'gliners',
    files: {
      'model.onnx': graph(
        [node('Unsqueeze', ['u', 'two'], ['v']), node('Add', ['v', 'nan'], ['logits'])],
        logits(['b', 's', 1, 1]),
      ),
    },
    code: 'INFERENCE_FAILED',
    reason: /not finite numbers/,
  },
  'a span model that answers twice the rows': {
    kind: 'gliners',
    files: {
      'model.onnx': graph(
        [
          node('Unsqueeze', ['u', 'two'], ['v']),
          node('Concat', ['v', 'v'], ['logits'], { axis: 0 }),
        ],
        logits(['c', 's', 1, 1]),
      ),
    },
    code: 'INFERENCE_FAILED',
    reason: /2 rows of 1/,
  },
  'a decoder that answers logits of two dimensions': {
    kind: 'rewriters',
    files: {
      'decoder-init.onnx': writeOnnxModel({
        nodes: [
          node('Cast', ['input_ids'], ['logits'], { to: ONNX_TYPE.float32 }),
          node('Unsqueeze', ['logits', 'axes13'], ['present.0.decoder.key']),
          node('Identity', ['key'], ['present.0.encoder.key']),
        ],
        initializers: [int64('axes13', [2], [1, 3]), float32('key', [1, 1, 1, 1], [1])],
        inputs: [IDS],
        outputs: [
          logits(['b', 's']),
          valueInfo('present.0.decoder.key', 'float32', ['b', 1, 's', 1]),
          valueInfo('present.0.encoder.key', 'float32', [1, 1, 1, 1]),
        ],
      }),
    },
    code: 'INFERENCE_FAILED',
    reason: /logits of \[1, 1\]/,
  },
  'a tokenizer that says the text again and again': {
    kind: 'embedders',
    files: { 'tokenizer.json': layoutOf([TEXT, TEXT], [2]) },
    code: 'UNAVAILABLE',
    reason: /"single" must have the text once/,
  },
  'a tokenizer that leaves out the text': {
    kind: 'embedders',
    files: { 'tokenizer.json': layoutOf([CLS], [2]) },
    code: 'UNAVAILABLE',
    reason: /"single" must have the text once/,
  },
  'a tokenizer with a million special tokens': {
    kind: 'embedders',
    files: {
      'tokenizer.json': layoutOf(
        [CLS, TEXT],
        Array.from({ length: 1_000_000 }, () => 2),
      ),
    },
    code: 'UNAVAILABLE',
    reason: /"\[CLS\]" has no ids that could be/,
  },
  'a tokenizer whose special token is below all others': {
    kind: 'embedders',
    files: { 'tokenizer.json': layoutOf([CLS, TEXT], [-7]) },
    code: 'UNAVAILABLE',
    reason: /"\[CLS\]" has no ids that could be/,
  },
  'a tokenizer that is called by megabytes': {
    kind: 'embedders',
    files: { 'tokenizer.json': tokenizerWith({ normalizer: { type: LONG } }) },
    code: 'UNAVAILABLE',
    reason: /the normalizer "xxx/,
  },
  'room for its special tokens alone': {
    kind: 'embedders',
    files: { 'config.json': { max_position_embeddings: 2 } },
    code: 'UNAVAILABLE',
    reason: /takes 2 tokens, and its special tokens are 2/,
  },
  'a named pipe for a configuration': {
    kind: 'embedders',
    spoil: async (directory) => {
      await rm(path.join(directory, 'tokenizer_config.json'))
      execFileSync('mkfifo', [path.join(directory, 'tokenizer_config.json')])
    },
    code: 'UNAVAILABLE',
    reason: /tokenizer_config\.json is not a regular file/,
  },
  'a folder for a configuration': {
    kind: 'embedders',
    spoil: async (directory) => {
      await rm(path.join(directory, 'tokenizer_config.json'))
      await mkdir(path.join(directory, 'tokenizer_config.json'))
    },
    code: 'UNAVAILABLE',
    reason: /tokenizer_config\.json is not a regular file/,
  },
  'a configuration of 3 GB': {
    kind: 'embedders',
    spoil: (directory) => truncate(path.join(directory, 'tokenizer_config.json'), 3e9),
    code: 'UNAVAILABLE',
    reason: /tokenizer_config\.json is larger than/,
  },
  'a template that refuses at length': {
    kind: 'generators',
    files: { 'chat_template.jinja': `{{ raise_exception('${'y'.repeat(900_000)}') }}` },
    code: 'INVALID_ARGUMENT',
    reason: /^messages: the chat template refuses them: yyy/,
  },
}

const WRITERS: Readonly<Record<Kind, (directory: string) => Promise<string>>> = {
  embedders: writeTinyEmbedder,
  recognizers: writeTinyNer,
  gliners: writeTinyGliner,
  rerankers: writeTinyReranker,
  rewriters: writeTinyRewriter,
  generators: writeTinyGenerator,
}

const TEXTS = ['hello', 'hello world foo']

/** What each kind is asked for, beside the model. */
const ASKED: Readonly<Record<Kind, readonly [route: string, body: object]>> = {
  embedders: ['/api/embed', { input: TEXTS }],
  recognizers: ['/api/recognize', { texts: ['alice'] }],
  gliners: ['/api/recognize', { texts: ['alice'], labels: ['a'] }],
  rerankers: ['/api/rerank', { query: 'hello', prompts: TEXTS }],
  rewriters: ['/api/rewrite', { inputs: TEXTS }],
  generators: ['/api/generate', { messages: [{ role: 'user', content: 'hello' }] }],
}

describe('a model with', () => {
  let server: InferenceServer
  let worker: string

  before(async () => {
    server = await InferenceServer.start(
      async (root) => {
        await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
        for (const [what, { kind, files = {}, spoil }] of Object.entries(ROWS)) {
          const folder = kind === 'gliners' ? 'recognizers' : kind
          const name = kind === 'gliners' ? `gliner ${what}` : what
          const directory = await WRITERS[kind](path.join(root, folder, name))
          await writeModelDirectory(directory, files)
          await spoil?.(directory)
        }
      },
      { workers: 1 },
    )
    await until(async () => (await server.get('/readyz')).status === 200)
    worker = processesBelow()
  })

  after(() => server[Symbol.asyncDispose]())

  for (const [what, { kind, code, reason }] of Object.entries(ROWS)) {
    it(`${what} is refused`, async () => {
      const [route, body] = ASKED[kind]
      const model = kind === 'gliners' ? `gliner ${what}` : what

      const { status, json } = await server.post(route, { model, ...body })

      expect(json.error).to.match(reason)
      expect([status, json.code]).to.deep.equal([
        { UNAVAILABLE: 503, INFERENCE_FAILED: 500, INVALID_ARGUMENT: 400 }[code],
        code,
      ])
      expect(json.error).to.not.include(server.modelsDir)
      expect(json.error.length).to.be.at.most(MESSAGE_LENGTH_MAX)
    })
  }

  it('any of these defects ends no worker', async () => {
    expect((await server.post('/api/embed', { model: 'tiny', input: 'world' })).status).to.equal(
      200,
    )

    expect(processesBelow()).to.equal(worker)
    expect(await server.metric('quarry_inference_queued_items')).to.equal(0)
    expect(await server.metric('quarry_inference_requests_running')).to.equal(0)
  })
})

/** The one worker, by its process id. */
function processesBelow(): string {
  return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
}
