import { mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { scanModels } from '../../../../inference/models/model-catalog.ts'
import type { ModelCatalog } from '../../../../inference/models/model-catalog.ts'
import type { ModelKind, SpecOf } from '../../../../inference/models/model-spec.ts'
import { must } from '../../../../lib/assert.ts'
import { silentLog } from '../../../../lib/log.ts'
import { embedderGraph } from '../../../support/inference/model-graphs.ts'
import {
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyGliner,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
  writeTinyTowers,
} from '../../../support/inference/model-directories.ts'

describe('the catalog of models', () => {
  let root: string

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-catalog-'))
  })

  afterEach(() => rm(root, { recursive: true }))

  const at = (name: string): string => path.join(root, name)
  const scan = (): Promise<ModelCatalog> => scanModels(root, silentLog)

  async function find<Kind extends ModelKind>(kind: Kind, name: string): Promise<SpecOf<Kind>> {
    const catalog = await scan()
    return must(
      catalog.find(kind, name),
      `${kind} ${name} among ${JSON.stringify(catalog.skipped)}`,
    )
  }

  it('finds names of one part and of two, graphs at the top and in onnx/, through links', async () => {
    await writeTinyEmbedder(at('embedders/plain'))
    await writeTinyEmbedder(at('embedders/acme/owned'))
    await writeTinyEmbedder(at('embedders/acme/inner'), { file: 'onnx/model.onnx' })
    await writeTinyEmbedder(at('elsewhere'))
    await symlink(at('elsewhere'), at('embedders/linked'))
    await mkdir(at('embedders/.hidden'), { recursive: true })

    const catalog = await scan()

    expect(catalog.ofKind('embedder').map(({ name }) => name)).to.deep.equal([
      'acme/inner',
      'acme/owned',
      'linked',
      'plain',
    ])
    expect(catalog.skipped).to.deep.equal([])
  })

  it('is empty without a directory, which it reports, or with an empty one', async () => {
    const said: unknown[] = []
    const log = { ...silentLog, info: (...line: unknown[]) => void said.push(line) }

    expect((await scanModels(at('none'), log)).ofKind('embedder')).to.deep.equal([])
    expect(said).to.deep.equal([['models directory not found', { modelsDir: at('none') }]])
    expect((await scanModels(root, log)).ofKind('embedder')).to.deep.equal([])
    expect(said).to.have.length(1)
  })

  it('serves other kinds when the folder of one cannot be read (K2)', async () => {
    await writeTinyReranker(at('rerankers/tiny'))
    await symlink('embedders', at('embedders'))

    const catalog = await scan()

    expect(catalog.ofKind('reranker').map(({ name }) => name)).to.deep.equal(['tiny'])
    expect(catalog.skipped).to.deep.equal([
      { directory: 'embedders', reason: 'it cannot be read: ELOOP' },
    ])
  })

  it('reports a kind with more models than it serves (K1)', async () => {
    const names = Array.from({ length: 1_001 }, (_, index) => `m${index}`)
    for (const name of names) await mkdir(at(`embedders/${name}`), { recursive: true })

    const { skipped } = await scan()

    expect(skipped).to.have.length(1_001)
    expect(skipped[0]).to.deep.equal({
      directory: 'embedders',
      reason: 'it has 1001 models; the first 1000 are served',
    })
  })

  it('lists variants by their suffix and finds them in every spelling', async () => {
    await writeTinyEmbedder(at('embedders/m'))
    for (const file of ['model_quantized', 'model_fp16', 'model_q4']) {
      await writeModelDirectory(at('embedders/m'), { [`onnx/${file}.onnx`]: embedderGraph() })
    }

    const catalog = await scan()

    const names = catalog.ofKind('embedder').map(({ name }) => name)
    expect(names).to.deep.equal(['m', 'm-f16', 'm-i4', 'm-i8'])
    for (const asked of ['m-i8', 'm:i8']) {
      const spec = catalog.find('embedder', asked)
      expect([spec?.variant, spec?.text.graphFile]).to.deep.equal([
        'i8',
        'onnx/model_quantized.onnx',
      ])
    }
    expect(catalog.find('embedder', 'm')?.variant).to.equal('f32')
    expect(catalog.find('embedder', 'm-none')).to.equal(undefined)
  })

  it('finds a model by its bare name that has only a quantized variant', async () => {
    await writeTinyEmbedder(at('embedders/m'), { file: 'model_int8.onnx' })

    expect((await find('embedder', 'm')).name).to.equal('m-i8')
  })

  it('prefers quantized rerankers', async () => {
    await writeTinyReranker(at('rerankers/r'))
    await writeTinyReranker(at('rerankers/r'), { file: 'model_quantized.onnx' })

    expect((await find('reranker', 'r')).graphFile).to.equal('model_quantized.onnx')
    expect((await find('reranker', 'r:f32')).graphFile).to.equal('model.onnx')
  })

  it('counts the bytes of weights beside a graph', async () => {
    await writeTinyEmbedder(at('embedders/m'))
    const before = (await find('embedder', 'm')).fileBytes
    await writeModelDirectory(at('embedders/m'), { 'model.onnx_data': new Uint8Array(5000) })

    expect((await find('embedder', 'm')).fileBytes).to.equal(before + 5000)
  })

  it('reads length, pooling and prompts as sentence-transformers writes them', async () => {
    await writeTinyEmbedder(at('embedders/m'), { pooling: 'last-token', maxLength: 512 })
    await writeModelDirectory(at('embedders/m'), {
      'sentence_bert_config.json': { max_seq_length: 128 },
      'config_sentence_transformers.json': {
        prompts: { query: 'query: ', document: 'passage: ' },
        default_prompt_name: 'query',
      },
    })

    expect(await find('embedder', 'm')).to.deep.include({
      maxTokens: 128,
      prompts: { query: 'query: ', document: 'passage: ' },
      defaultPrompt: 'query',
    })
    expect((await find('embedder', 'm')).text.pooling).to.equal('last-token')
  })

  it('pools the end token of a text where there is a tower of images', async () => {
    await writeTinyTowers(at('embedders/m'))
    await writeModelDirectory(at('embedders/m'), {
      'config.json': { model_type: 'clip', text_config: { max_position_embeddings: 77 } },
    })

    const spec = await find('embedder', 'm')

    expect([spec.text.pooling, spec.maxTokens]).to.deep.equal(['last-token', 77])
    expect(spec.text.projectionFile).to.equal('text_projection.onnx')
    expect(spec.image).to.deep.include({
      graphFile: 'visual_model.onnx',
      projectionFile: 'visual_projection.onnx',
    })
  })

  it('pads texts to the limit for models of the SigLIP family alone', async () => {
    await writeTinyTowers(at('embedders/clip'))
    await writeTinyTowers(at('embedders/siglip'), { 'config.json': { model_type: 'siglip' } })

    expect((await find('embedder', 'clip')).text.isPaddedToMax).to.equal(false)
    expect((await find('embedder', 'siglip')).text.isPaddedToMax).to.equal(true)
  })

  it('leaves out the positions that roberta models do not use', async () => {
    await writeTinyEmbedder(at('embedders/m'))
    await writeModelDirectory(at('embedders/m'), {
      'config.json': { model_type: 'xlm-roberta', max_position_embeddings: 514, pad_token_id: 1 },
    })

    expect((await find('embedder', 'm')).maxTokens).to.equal(512)
  })

  it('tells the three families of recognizers apart', async () => {
    await writeTinyNer(at('recognizers/ner'))
    await writeTinyGliner(at('recognizers/spans'))
    await rename(at('recognizers/spans'), at('recognizers/gliner-spans'))
    await writeTinyRewriter(at('recognizers/rebel-small'))

    expect((await find('recognizer', 'ner')).model.type).to.equal('token-classifier')
    expect((await find('recognizer', 'gliner-spans')).capabilities).to.deep.equal([
      'labels',
      'zeroshot',
    ])
    expect((await find('recognizer', 'rebel-small')).capabilities).to.deep.equal(['relations'])
  })

  it('reads the settings of a generator and a rewriter', async () => {
    await writeTinyGenerator(at('generators/g'), { eos: [12, 99], contextLength: 64 })
    await writeTinyRewriter(at('rewriters/w'), { maxLength: 20 })

    expect(await find('generator', 'g')).to.deep.include({
      layerCount: 1,
      keyValueHeadCount: 1,
      headSize: 1,
      eosIds: [12, 99],
      maxTokens: 64,
    })
    expect((await find('rewriter', 'w')).seq2seq.decoder).to.deep.equal({
      type: 'pair',
      firstFile: 'decoder-init.onnx',
      laterFile: 'decoder.onnx',
    })
    expect((await find('rewriter', 'w')).maxLength).to.equal(20)
  })

  const broken: Readonly<
    Record<string, [string, Readonly<Record<string, string | object>>, string]>
  > = {
    'no tokenizer': ['embedders/m', { 'model.onnx': 'x' }, 'tokenizer.json is missing'],
    'no graph': ['embedders/m', { 'tokenizer.json': {} }, 'it has no graph'],
    'a configuration that is no JSON': [
      'embedders/m',
      { 'tokenizer.json': {}, 'model.onnx': 'x', 'config.json': '{' },
      'config.json is not JSON',
    ],
    'a configuration that is too large': [
      'embedders/m',
      { 'tokenizer.json': {}, 'model.onnx': 'x', 'config.json': ' '.repeat(8 * 1024 * 1024 + 1) },
      'config.json is larger than 8388608 bytes',
    ],
    'a configuration of the wrong type': [
      'embedders/m',
      {
        'tokenizer.json': {},
        'model.onnx': 'x',
        'config.json': { max_position_embeddings: 'many' },
      },
      'config.json: max_position_embeddings must be an integer',
    ],
    'a pooling nobody knows': [
      'embedders/m',
      {
        'tokenizer.json': {},
        'model.onnx': 'x',
        '1_Pooling/config.json': { pooling_mode_odd: true },
      },
      'must name one of the poolings',
    ],
    'a manifest that climbs': [
      'embedders/m',
      { 'tokenizer.json': {}, 'model.onnx': 'x', 'manifest.json': { files: [{ name: '../x' }] } },
      'outside of the directory',
    ],
    'a generator that never ends': [
      'generators/m',
      { 'tokenizer.json': {}, 'model.onnx': 'x', 'config.json': { num_attention_heads: 1 } },
      'eos_token_id is missing',
    ],
    'a rewriter without its decoder': [
      'rewriters/m',
      {
        'tokenizer.json': {},
        'encoder.onnx': 'x',
        'config.json': { eos_token_id: 1, pad_token_id: 0, num_heads: 1, d_kv: 1, num_layers: 1 },
      },
      "the decoder's graphs are missing",
    ],
    'a recognizer without labels': [
      'recognizers/m',
      { 'tokenizer.json': {}, 'model.onnx': 'x' },
      'id2label is missing',
    ],
  }
  for (const [what, [directory, files, reason]] of Object.entries(broken)) {
    it(`skips a directory with ${what}, and reports it`, async () => {
      await writeModelDirectory(at(directory), files)
      await writeTinyEmbedder(at('embedders/good'))

      const catalog = await scan()

      expect(catalog.find('embedder', 'good')?.name).to.equal('good')
      expect(catalog.skipped.map((each) => each.directory)).to.deep.equal([directory])
      expect(catalog.skipped[0]!.reason).to.include(reason)
    })
  }
})
