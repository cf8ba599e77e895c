// Model directories that mean harm, or were made by mistake: each is skipped with a reason that names
// the field, and none keeps others from being served.

import { readFile } from 'node:fs/promises'
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { scanModels } from '../../../../inference/models/model-catalog.ts'
import type { ModelCatalog } from '../../../../inference/models/model-catalog.ts'
import { silentLog } from '../../../../lib/log.ts'
import {
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyGliner,
  writeTinyNer,
  writeTinyRewriter,
} from '../../../support/inference/model-directories.ts'

type Writer = (directory: string) => Promise<unknown>

const WRITERS: Readonly<Record<string, Writer>> = {
  embedders: writeTinyEmbedder,
  generators: writeTinyGenerator,
  recognizers: writeTinyNer,
  gliners: writeTinyGliner,
  rewriters: writeTinyRewriter,
}

/** A file of a directory that was right, the fields that are put into it, and what is said of them. */
type Row = readonly [kind: string, file: string, fields: object, reason: string]

const ROBERTA = { model_type: 'roberta' }
const LONG = 'x'.repeat(1_000_000)
const GENERATION = 'generation_config.json'

const ROWS: readonly Row[] = [
  ['embedders', 'config.json', { max_position_embeddings: -5 }, 'max_position_embeddings'],
  ['embedders', 'config.json', { max_position_embeddings: 1.5 }, 'max_position_embeddings'],
  ['embedders', 'config.json', { ...ROBERTA, pad_token_id: 511 }, 'leaves no position'],
  ['embedders', 'config.json', { ...ROBERTA, pad_token_id: 1e308 }, 'leaves no position'],
  ['embedders', 'config.json', { ...ROBERTA, pad_token_id: -1e308 }, 'pad_token_id'],
  ['embedders', 'config.json', { ...ROBERTA, pad_token_id: 0.5 }, 'pad_token_id'],
  ['generators', GENERATION, { temperature: -1 }, 'temperature must be a number from 0 to'],
  ['generators', GENERATION, { temperature: '1' }, 'temperature must be a number'],
  ['generators', GENERATION, { top_p: 7 }, 'top_p must be a number from 0 to 1'],
  ['generators', GENERATION, { top_k: 2.5 }, 'top_k must be an integer'],
  ['generators', GENERATION, { top_k: -2 }, 'top_k must be a number from -1 to'],
  ['generators', GENERATION, { repetition_penalty: 0 }, 'repetition_penalty must be a number from'],
  ['generators', GENERATION, { repetition_penalty: -2 }, 'repetition_penalty must be a number'],
  [
    'generators',
    'config.json',
    { head_dim: null, hidden_size: 4, num_attention_heads: 8 },
    'hidden_size must be at least',
  ],
  [
    'rewriters',
    'config.json',
    { d_kv: null, d_model: 1, num_heads: 8 },
    'd_model must be at least',
  ],
  ['gliners', 'gliner_config.json', { threshold: -1 }, 'threshold must be a number from 0 to 1'],
  ['gliners', 'gliner_config.json', { relation_threshold: 2 }, 'relation_threshold'],
  ['gliners', 'gliner_config.json', { capabilities: [LONG] }, 'the capability xxx'],
]

const REASON_LENGTH_MAX = 500

describe('the catalog of hostile model directories', () => {
  let root: string

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-catalog-'))
  })

  afterEach(() => rm(root, { recursive: true }))

  const at = (name: string): string => path.join(root, name)
  const scan = (builtIn = {}): Promise<ModelCatalog> => scanModels(root, silentLog, builtIn)

  async function expectSkipped(expected: Readonly<Record<string, string>>): Promise<void> {
    await writeTinyEmbedder(at('embedders/good'))

    const catalog = await scan()

    expect(catalog.find('embedder', 'good')?.name).to.equal('good')
    expect(catalog.skipped.map(({ directory }) => directory)).to.have.members(Object.keys(expected))
    for (const { directory, reason } of catalog.skipped) {
      expect(reason).to.include(expected[directory] ?? '')
      expect(reason.length).to.be.at.most(REASON_LENGTH_MAX)
    }
  }

  for (const [kind, file, fields, reason] of ROWS) {
    it(`refuses ${JSON.stringify(fields).slice(0, 60)} in ${file}`, async () => {
      const directory = `${kind === 'gliners' ? 'recognizers' : kind}/bad`
      await WRITERS[kind]?.(at(directory))
      const before: object = JSON.parse(await readFile(at(`${directory}/${file}`), 'utf8'))
      await writeModelDirectory(at(directory), { [file]: { ...before, ...fields } })

      await expectSkipped({ [directory]: reason })
    })
  }

  it('takes a length from a tokenizer only if it is a usable number, and none where there is no limit', async () => {
    for (const [name, length] of Object.entries({ half: 1.5, none: 0, huge: 1e30 })) {
      const directory = await writeTinyEmbedder(at(`embedders/${name}`))
      await writeModelDirectory(directory, {
        'config.json': {},
        'tokenizer_config.json': { model_max_length: length },
      })
    }

    const catalog = await scan()

    expect(
      catalog.ofKind('embedder').map(({ name, maxTokens }) => [name, maxTokens]),
    ).to.deep.equal([['huge', 512]])
    expect(catalog.skipped.map(({ reason }) => reason)).to.deep.equal(
      ['half', 'none'].map(
        () => 'tokenizer_config.json: model_max_length must be an integer from 1 on',
      ),
    )
  })

  it('reads a top_k of -1 as all tokens', async () => {
    const directory = await writeTinyGenerator(at('generators/chat'))
    await writeModelDirectory(directory, { [GENERATION]: { top_k: -1 } })

    expect((await scan()).find('generator', 'chat')?.sampling.topK).to.equal(0)
  })

  it('refuses a configuration of 100 MB without reading it', async () => {
    await writeTinyEmbedder(at('embedders/bad'))
    await truncate(at('embedders/bad/config.json'), 100_000_000)

    await expectSkipped({ 'embedders/bad': 'larger than' })
  })

  it('reports broken links, and files in the place of folders', async () => {
    await mkdir(at('embedders'))
    await symlink('loop', at('embedders/loop'))
    await symlink('gone', at('embedders/dangling'))
    await writeFile(at('chunkers'), '')

    await expectSkipped({
      'embedders/loop': 'ELOOP',
      'embedders/dangling': 'ENOENT',
      chunkers: 'ENOTDIR',
    })
  })

  it('serves one model of a name, and none with the name of a built-in one', async () => {
    await writeTinyEmbedder(at('embedders/twice'), { file: 'model_i8.onnx' })
    await writeTinyEmbedder(at('embedders/twice-i8'))
    await writeTinyEmbedder(at('embedders/inside'))

    const catalog = await scan({ names: { embedder: new Set(['inside']) } })

    expect(catalog.ofKind('embedder').map(({ name }) => name)).to.deep.equal(['twice-i8'])
    expect(catalog.skipped).to.deep.equal([
      { directory: 'embedders/inside', reason: reasonOfName('inside') },
      { directory: 'embedders/twice-i8', reason: reasonOfName('twice-i8') },
    ])
  })

  it('finds each model under its listed name, whatever its characters', async () => {
    for (const name of ['a:b', 'new\nline', 'ü☃', '"\\', '%2e']) {
      await writeTinyEmbedder(at(`embedders/${name}`), { file: 'model_i8.onnx' })
    }

    const catalog = await scan()

    const names = catalog.ofKind('embedder').map(({ name }) => name)
    expect(names).to.have.length(5)
    expect(names.map((name) => catalog.find('embedder', name)?.name)).to.deep.equal(names)
  })

  it('counts all parts of the weights that lie beside a graph', async () => {
    await writeTinyEmbedder(at('embedders/large'))
    const [before] = (await scan()).ofKind('embedder')
    for (const name of [
      'model.onnx_data',
      'model.onnx_data_1',
      'model.onnx_data_12',
      'model.onnx.data',
    ]) {
      await writeFile(at(`embedders/large/${name}`), '')
      await truncate(at(`embedders/large/${name}`), 2_000_000_000)
    }
    for (const name of ['model.onnx_data_x', 'other.onnx_data']) {
      await writeFile(at(`embedders/large/${name}`), 'not of the graph')
    }

    const [after] = (await scan()).ofKind('embedder')
    expect(after?.fileBytes).to.equal((before?.fileBytes ?? 0) + 8_000_000_000)
  })

  it('reports when there are more directories than it serves', async () => {
    for (let i = 0; i < 1_001; i++) await mkdir(at(`rewriters/m${i}`), { recursive: true })

    const { skipped } = await scan()

    expect(skipped[0]).to.deep.equal({
      directory: 'rewriters',
      reason: 'it has 1001 models; the first 1000 are served',
    })
  })
})

function reasonOfName(name: string): string {
  return `another model is called ${name}; rename the directory`
}
