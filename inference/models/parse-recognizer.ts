import type { ConfigFields } from './config-fields.ts'
import { refuse } from './model-files.ts'
import { RECOGNIZER_CAPABILITIES } from './model-spec.ts'
import type { RecognizerCapability, RecognizerModel, RecognizerSpec } from './model-spec.ts'
import { graphsOf, parseMaxTokens, specBase } from './model-directory.ts'
import type { ModelDirectory } from './model-directory.ts'
import { graphFilesOf, parseSeq2Seq } from './parse-rewriter.ts'

const WIDTH_MAX = 1_000
const WIDTH_DEFAULT = 12
const WORDS_MAX = 100_000
const WORDS_DEFAULT = 384
const THRESHOLD_DEFAULT = 0.5
const REBEL_LENGTH_MAX = 4_096
const REBEL_LENGTH_DEFAULT = 256

/** The model's own configuration file decides the family, else its name. */
export function parseRecognizer(directory: ModelDirectory): Promise<readonly RecognizerSpec[]> {
  const { files, name } = directory
  const lowerName = name.toLowerCase()
  if (files.has('rebel_config.json') || lowerName.includes('rebel')) return parseRebel(directory)
  if (files.has('gliner_config.json') || lowerName.includes('gliner')) return parseGliner(directory)
  return parseTokenClassifier(directory)
}

async function parseRebel(directory: ModelDirectory): Promise<readonly RecognizerSpec[]> {
  const config = await directory.files.config('rebel_config.json')
  const maxLength = config.count('max_length', REBEL_LENGTH_MAX) ?? REBEL_LENGTH_DEFAULT
  const maxTokens = await parseMaxTokens(directory)
  const variants = await parseSeq2Seq(directory)
  return variants.map(({ variant, seq2seq }) => ({
    kind: 'recognizer',
    ...specBase(directory, variant, { graphFiles: graphFilesOf(seq2seq), maxTokens }),
    model: { type: 'rebel', seq2seq, maxLength },
    capabilities: ['relations'],
  }))
}

async function parseGliner(directory: ModelDirectory): Promise<readonly RecognizerSpec[]> {
  const { files } = directory
  const config = await files.config('gliner_config.json')
  const maxTokens = await parseMaxTokens(directory)
  const shared = {
    type: 'gliner' as const,
    spanMode: config.text('span_mode') === 'token_level' ? ('token' as const) : ('span' as const),
    maxWidth: config.count('max_width', WIDTH_MAX) ?? WIDTH_DEFAULT,
    maxWords: config.count('max_len', WORDS_MAX) ?? WORDS_DEFAULT,
    entityToken: config.text('ent_token') ?? '<<ENT>>',
    separatorToken: config.text('sep_token') ?? '<<SEP>>',
    threshold: config.numberWithin('threshold', [0, 1]) ?? THRESHOLD_DEFAULT,
    flat: config.flag('flat_ner') ?? true,
    multiLabel: config.flag('multi_label') ?? false,
    defaultLabels: config.texts('default_labels') ?? config.texts('labels') ?? [],
    relationThreshold: config.numberWithin('relation_threshold', [0, 1]) ?? THRESHOLD_DEFAULT,
  }
  const capabilities = parseCapabilities(config, directory.name)
  return graphsOf(files, ['model']).map(({ variant, file }) => {
    const model: RecognizerModel = { ...shared, graphFile: file }
    const base = specBase(directory, variant, { graphFiles: [file], maxTokens })
    return { kind: 'recognizer', ...base, model, capabilities }
  })
}

/** Models named multitask were trained to find relations and answers as well. */
function parseCapabilities(config: ConfigFields, name: string): readonly RecognizerCapability[] {
  const said = config.texts('capabilities')
  if (said === undefined) {
    const more = name.toLowerCase().includes('multitask') ? (['relations', 'answers'] as const) : []
    return ['labels', 'zeroshot', ...more]
  }
  const listed = RECOGNIZER_CAPABILITIES.filter(
    (capability) => said.includes(capability) || ['labels', 'zeroshot'].includes(capability),
  )
  const unknown = said.find((each) => !RECOGNIZER_CAPABILITIES.some((known) => known === each))
  if (unknown === undefined) return listed
  throw refuse(`gliner_config.json: the capability ${unknown} is not known`)
}

async function parseTokenClassifier(directory: ModelDirectory): Promise<readonly RecognizerSpec[]> {
  const { files, config } = directory
  const own = await files.config('ner_config.json')
  const labels = own.labels('labels') ?? own.labels('id2label') ?? config.labels('id2label')
  if (labels === undefined) throw refuse('config.json: id2label is missing')
  const maxTokens = await parseMaxTokens(directory)
  return graphsOf(files, ['model']).map(({ variant, file }) => ({
    kind: 'recognizer',
    ...specBase(directory, variant, { graphFiles: [file], maxTokens }),
    model: { type: 'token-classifier', graphFile: file, labels },
    capabilities: ['labels'],
  }))
}
