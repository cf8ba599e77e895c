import { expect } from 'chai'
import { graphVariantOf, selectFiles } from '../../../../../inference/models/hub/file-selection.ts'
import { parseListing } from '../../../../../inference/models/hub/hub-listing.ts'
import type { HubFile } from '../../../../../inference/models/hub/hub-listing.ts'
import { detectKind, parseModelKind } from '../../../../../inference/models/hub/kind-detection.ts'
import type { RepositoryFacts } from '../../../../../inference/models/hub/kind-detection.ts'
import { parseModelName, parseRevision } from '../../../../../inference/models/hub/model-name.ts'
import type { ModelKind } from '../../../../../inference/models/model-spec.ts'

const OID = 'a'.repeat(40)
const SHA256 = 'b'.repeat(64)

describe('names of models', () => {
  it('have an owner and a name', () => {
    expect(parseModelName('Xenova/all-MiniLM-L6-v2')).to.deep.equal({
      owner: 'Xenova',
      name: 'all-MiniLM-L6-v2',
    })
  })

  const bad = ['', 'name', 'a/b/c', '../b', 'a/..', 'a/b..c', './b', '/b', 'a/', 'a\\b', '.a/b']
  for (const text of [...bad, 'a/-b', 'a b/c', 'a/b\0', `a/${'b'.repeat(97)}`]) {
    it(`are not "${text.slice(0, 20).replace('\0', '\\0')}"`, () => {
      expect(() => parseModelName(text)).to.throw('OWNER/NAME')
    })
  }

  it('may have a revision that cannot leave its place in the path', () => {
    expect(parseRevision('refs/pr/1')).to.equal('refs/pr/1')
    for (const text of ['', '..', 'a/../b', '-x', 'a b', 'a?b']) {
      expect(() => parseRevision(text), text).to.throw('not a revision')
    }
  })
})

describe('listings of a hub', () => {
  it('give files with git digests, and SHA-256 for large ones', () => {
    const files = parseListing([
      { type: 'directory', oid: OID, size: 0, path: 'onnx' },
      { type: 'file', oid: OID, size: 10, path: 'config.json' },
      {
        type: 'file',
        oid: OID,
        size: 20,
        path: 'onnx/model.onnx',
        lfs: { oid: SHA256, size: 20, pointerSize: 130 },
        xetHash: SHA256,
      },
      { type: 'file', oid: OID, size: 5, path: 'x.onnx', lfs: { oid: `sha256:${SHA256}` } },
    ])

    expect(files).to.deep.equal([
      { path: 'config.json', bytes: 10, digest: { kind: 'git-blob', hex: OID } },
      { path: 'onnx/model.onnx', bytes: 20, digest: { kind: 'sha256', hex: SHA256 } },
      { path: 'x.onnx', bytes: 5, digest: { kind: 'sha256', hex: SHA256 } },
    ])
  })

  const paths = ['../x', 'a/../x', '/etc/passwd', 'a//b', '.git/config', 'a\\b', 'a/', 'a/.x', '']
  for (const path of paths) {
    it(`leave out "${path}"`, () => {
      expect(parseListing([{ type: 'file', oid: OID, size: 1, path }])).to.deep.equal([])
    })
  }

  it('leave out entries without a valid digest, size or path', () => {
    const good = { type: 'file', oid: OID, size: 1, path: 'a' }
    const entries = [
      { ...good, oid: 'short' },
      { ...good, size: -1 },
      { ...good, size: '1' },
      { ...good, lfs: { oid: OID } },
      { ...good, path: 5 },
      'a',
      null,
    ]

    expect(parseListing(entries)).to.deep.equal([])
    expect(() => parseListing({ error: 'no' })).to.throw('did not answer with a list')
  })
})

describe('files of a pull', () => {
  const config = ['config.json', 'tokenizer.json', 'tokenizer_config.json']
  const rest = ['README.md', 'pytorch_model.bin', 'model.safetensors', 'onnx/README.md']
  const pick = (
    paths: readonly string[],
    { kind = 'embedder', variant }: { kind?: ModelKind; variant?: string } = {},
  ): string[] => {
    const selected = selectFiles([...config, ...rest, ...paths].map(file), { kind, variant })
    return selected.files
      .map(({ path }) => path)
      .filter((path) => !config.includes(path))
      .toSorted()
  }

  it('are configuration, tokenizer and the graph of the variant', () => {
    const files = [...config, ...rest, 'onnx/model.onnx', 'onnx/model_quantized.onnx'].map(file)

    const selected = selectFiles(files, { kind: 'embedder', variant: undefined })

    expect(selected.variant).to.equal('f32')
    expect(selected.files.map(({ path }) => path).toSorted()).to.deep.equal([
      ...config.slice(0, 1),
      'onnx/model.onnx',
      ...config.slice(1),
    ])
    const sizes = selected.files.map(({ bytes }) => bytes)
    expect(sizes).to.deep.equal(sizes.toSorted((one, other) => one - other))
  })

  it('are those of sentence-transformers as well', () => {
    const pooling = ['1_Pooling/config.json', 'modules.json', 'sentence_bert_config.json']

    expect(pick([...pooling, 'onnx/model.onnx'])).to.deep.equal(
      [...pooling, 'onnx/model.onnx'].toSorted(),
    )
  })

  it('include the best available spelling of 8 bits', () => {
    const spellings = [
      'model_qint8_arm64',
      'model_qint8_avx512_vnni',
      'model_quantized',
      'model_int8',
    ]
    for (let count = 1; count <= spellings.length; count += 1) {
      const graphs = spellings.slice(0, count).map((stem) => `onnx/${stem}.onnx`)
      expect(pick(graphs, { variant: 'i8' })).to.deep.equal(graphs.slice(-1))
    }
  })

  it('may be chosen by the spelling of one file', () => {
    const files = [...config, 'onnx/model_int8.onnx', 'onnx/model_quantized.onnx'].map(file)

    const { variant, graphs } = selectFiles(files, { kind: 'embedder', variant: 'quantized' })

    expect(variant).to.equal('i8')
    expect(graphs.map(({ path }) => path)).to.deep.equal(['onnx/model_quantized.onnx'])
  })

  it('are of the next variant where there is no f32', () => {
    expect(pick(['onnx/model_q4.onnx', 'onnx/model_fp16.onnx'])).to.deep.equal([
      'onnx/model_fp16.onnx',
    ])
  })

  it('include the external data of the graph, and no other', () => {
    const graphs = [
      'onnx/model.onnx',
      'onnx/model.onnx_data',
      'onnx/model.onnx_data_1',
      'onnx/model.onnx.data',
      'onnx/model.onnx_dataset',
      'onnx/model_fp16.onnx',
      'onnx/model_fp16.onnx_data',
    ]

    expect(pick(graphs)).to.deep.equal(graphs.slice(0, 4).toSorted())
    expect(pick(graphs, { variant: 'f16' })).to.deep.equal(graphs.slice(5))
  })

  it('are both towers of a model of text and images', () => {
    const graphs = ['onnx/model', 'onnx/text_model', 'onnx/vision_model', 'onnx/visual_projection']

    expect(pick(graphs.map((stem) => `${stem}.onnx`))).to.deep.equal(
      graphs.slice(1).map((stem) => `${stem}.onnx`),
    )
  })

  it('are encoder and decoder of one variant of a rewriter', () => {
    const graphs = ['encoder_model', 'decoder_model', 'decoder_with_past_model'].flatMap((stem) => [
      `onnx/${stem}.onnx`,
      `onnx/${stem}_quantized.onnx`,
    ])
    const merged = 'onnx/decoder_model_merged_quantized.onnx'

    const kind = 'rewriter'
    expect(pick(graphs, { kind, variant: 'i8' })).to.deep.equal(
      graphs.filter((path) => path.includes('quantized')).toSorted(),
    )
    expect(pick([...graphs, merged], { kind, variant: 'i8' })).to.deep.equal([
      merged,
      'onnx/encoder_model_quantized.onnx',
    ])
  })

  it('prefer the root to the folder onnx', () => {
    expect(pick(['onnx/model.onnx', 'model.onnx'])).to.deep.equal(['model.onnx'])
  })

  const halves = [
    'onnx/encoder_model.onnx',
    'onnx/decoder_model_merged.onnx',
    'onnx/encoder_model_quantized.onnx',
    'onnx/decoder_model_merged_fp16.onnx',
  ]
  const refused: Readonly<Record<string, [() => unknown, RegExp]>> = {
    'the variant is not there': [
      () => pick(['onnx/model.onnx', 'onnx/model_int8.onnx'], { variant: 'i4' }),
      /it has no variant i4, but f32, i8$/,
    ],
    'half of its graphs are not there': [
      () => pick(halves, { kind: 'rewriter', variant: 'i8' }),
      /it has no variant i8, but f32$/,
    ],
    'nothing is called so': [
      () => pick(['onnx/model.onnx'], { variant: 'O3' }),
      /^unknown variant "O3"; the variants are f32, f16, bf16, i8, i8-st, u8, i4, q4f16, bnb4$/,
    ],
    'there are no graphs': [() => pick([]), /has no ONNX graphs; look for an export/],
    'the graphs are of another kind': [
      () => pick(['onnx/model.onnx'], { kind: 'rewriter' }),
      /its graphs are not those of a rewriter; give the right --kind/,
    ],
    'there is no tokenizer': [
      () => selectFiles([file('model.onnx')], { kind: 'embedder', variant: undefined }),
      /has no tokenizer.json/,
    ],
  }
  for (const [what, [select, message]] of Object.entries(refused)) {
    it(`are refused when ${what}`, () => {
      expect(select).to.throw(message)
    })
  }

  it('have a variant that their name tells', () => {
    const variants = {
      'model.onnx': 'f32',
      'onnx/model_quantized.onnx': 'i8',
      'onnx/decoder_model_merged_q4f16.onnx': 'q4f16',
      'onnx/decoder_with_past_model.onnx': 'f32',
      'onnx/decoder-init.onnx': 'f32',
      'onnx/model_O4.onnx': undefined,
      'onnx/unknown.onnx': undefined,
      'config.json': undefined,
    }
    for (const [path, variant] of Object.entries(variants)) {
      expect(graphVariantOf(path), path).to.equal(variant)
    }
  })
})

describe('the kind of a model', () => {
  const kinds: readonly (readonly [ModelKind | undefined, Partial<RepositoryFacts>])[] = [
    ['embedder', { config: head('BertModel'), paths: ['modules.json'] }],
    ['embedder', { config: head('Qwen3ForCausalLM'), paths: ['1_Pooling/config.json'] }],
    ['embedder', { config: head('CLIPModel') }],
    ['embedder', { config: head('BertForMaskedLM') }],
    ['reranker', { config: head('BertForSequenceClassification'), paths: ['modules.json'] }],
    ['recognizer', { config: head('BertForTokenClassification') }],
    ['recognizer', { paths: ['gliner_config.json'] }],
    ['recognizer', { name: 'rebel-large', config: head('BartForConditionalGeneration') }],
    ['recognizer', { paths: ['rebel_config.json'], config: head('BartModel') }],
    [
      'chunker',
      { config: { ...head('ModernBertForTokenClassification'), id2label: { 1: 'separator' } } },
    ],
    ['rewriter', { config: head('T5ForConditionalGeneration') }],
    ['rewriter', { config: { ...head('MarianMTModel'), is_encoder_decoder: true } }],
    ['generator', { config: head('Gemma3ForCausalLM') }],
    ['generator', { config: head('GPT2LMHeadModel') }],
    [undefined, { config: {} }],
    [undefined, { config: { architectures: 'BertModel' } }],
    [undefined, {}],
  ]
  for (const [kind, facts] of kinds) {
    it(`is ${kind ?? 'not known'} for ${JSON.stringify(facts)}`, () => {
      const whole = { name: 'a', paths: [], config: undefined, ...facts }

      expect(detectKind(whole)).to.equal(kind)
    })
  }

  it('may be given as the name of its folder', () => {
    expect([parseModelKind('embedders'), parseModelKind('embedder')]).to.deep.equal([
      'embedder',
      'embedder',
    ])
    expect(() => parseModelKind('cats')).to.throw('embedders, chunkers')
  })
})

function file(path: string): HubFile {
  // The longer the name, the larger: an order to check.
  return { path, bytes: path.length, digest: { kind: 'sha256', hex: SHA256 } }
}

function head(architecture: string): object {
  return { architectures: [architecture] }
}
