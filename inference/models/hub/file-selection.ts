// Selects the files of a hub's repository that form a model directory: the graphs of one variant with
// their external data, the tokenizer, and the configuration. Pure.

import { ServiceError } from '../../../lib/errors.ts'
import { suffixesOf, VARIANT_BY_SUFFIX, VARIANTS } from '../graph-variants.ts'
import { isExternalData } from '../model-files.ts'
import { MODEL_KINDS } from '../model-spec.ts'
import type { ModelKind } from '../model-spec.ts'
import type { HubFile } from './hub-listing.ts'

interface GraphSet {
  /** File names without variant and `.onnx`. */
  readonly required: readonly string[]
  readonly optional?: readonly string[]
}

const PROJECTIONS = ['text_projection', 'visual_projection', 'vision_projection']

const SEQ2SEQ: readonly GraphSet[] = [
  { required: ['encoder_model', 'decoder_model_merged'] },
  { required: ['encoder_model', 'decoder_model', 'decoder_with_past_model'] },
  { required: ['encoder', 'decoder-init', 'decoder'] },
]

/** The first set whose required graphs all exist is used. */
const GRAPH_SETS: Readonly<Record<ModelKind, readonly GraphSet[]>> = {
  embedder: [
    { required: ['text_model', 'vision_model'], optional: PROJECTIONS },
    { required: ['text_model', 'visual_model'], optional: PROJECTIONS },
    { required: ['model'] },
  ],
  chunker: [{ required: ['model'] }, { required: ['chunker'] }],
  reranker: [{ required: ['model'] }, { required: ['cross_encoder'] }, { required: ['reranker'] }],
  generator: [{ required: ['model'] }, { required: ['decoder_model_merged'] }],
  recognizer: [{ required: ['model'] }, ...SEQ2SEQ],
  rewriter: SEQ2SEQ,
}

/** Searched in this order. The first folder with a complete set is used. */
const GRAPH_FOLDERS = ['', 'onnx/']

/** Small files that configure a model. All existing ones are selected. */
const CONFIGURATION_FILES: ReadonlySet<string> = new Set([
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'generation_config.json',
  'genai_config.json',
  'chat_template.jinja',
  'preprocessor_config.json',
  'modules.json',
  '1_Pooling/config.json',
  'sentence_bert_config.json',
  'config_sentence_transformers.json',
  'clip_config.json',
  'gliner_config.json',
  'ner_config.json',
  'rebel_config.json',
  'seq2seq_config.json',
])
const TOKENIZER_FILE = 'tokenizer.json'
/** The server reads no larger tokenizer. The largest known, of a model of 100 languages, has 34 MB. */
const CONFIGURATION_BYTES_MAX = 64 * 1024 * 1024

/** The files of one variant. */
export interface SelectedFiles {
  readonly variant: string
  /** The graphs without their external data. */
  readonly graphs: readonly HubFile[]
  /** All needed files, the smallest first, so that errors show early. */
  readonly files: readonly HubFile[]
}

/** The kind and the variant to select. */
export interface Selection {
  readonly kind: ModelKind
  /** Undefined: the most exact existing one. */
  readonly variant: string | undefined
}

/** Throws INVALID_ARGUMENT, with a remedy, if the repository has no complete set of files. */
export function selectFiles(files: readonly HubFile[], selection: Selection): SelectedFiles {
  const { variant, graphs } = selectGraphs(files, selection)
  const configuration = files.filter(({ path }) => CONFIGURATION_FILES.has(path))
  if (!configuration.some(({ path }) => path === TOKENIZER_FILE)) {
    throw refuse(`it has no ${TOKENIZER_FILE}; use a repository that has one`)
  }
  const large = configuration.find(({ bytes }) => bytes > CONFIGURATION_BYTES_MAX)
  if (large !== undefined) throw refuse(`${large.path} is over ${CONFIGURATION_BYTES_MAX} bytes`)
  const data = files.filter(({ path }) => graphs.some((graph) => isExternalData(path, graph.path)))
  const all = [...configuration, ...graphs, ...data]
  return { variant, graphs, files: all.toSorted((one, other) => one.bytes - other.bytes) }
}

/** The variant of a graph by its file name; undefined for other files. */
export function graphVariantOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const stems = MODEL_KINDS.flatMap((kind) => GRAPH_SETS[kind]).flatMap(({ required }) => required)
  const isNamed = ([suffix]: readonly [string, string]): boolean =>
    stems.some((stem) => name === `${stem}${suffix}.onnx`)
  return [...VARIANT_BY_SUFFIX].find(isNamed)?.[1]
}

function selectGraphs(
  files: readonly HubFile[],
  { kind, variant }: Selection,
): { readonly variant: string; readonly graphs: readonly HubFile[] } {
  const suffixes = (variant === undefined ? VARIANTS : [variant]).flatMap(suffixesOf)
  if (suffixes.length === 0) {
    const known = VARIANTS.join(', ')
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `unknown variant "${variant}"; the variants are ${known}`,
    )
  }
  for (const suffix of suffixes) {
    const graphs = findSet(files, kind, suffix)
    const found = VARIANT_BY_SUFFIX.get(suffix)
    if (graphs !== undefined && found !== undefined) return { variant: found, graphs }
  }
  const others = availableVariants(files, kind)
  if (others.length > 0) throw refuse(`it has no variant ${variant}, but ${others.join(', ')}`)
  if (files.some(({ path }) => path.endsWith('.onnx'))) {
    throw refuse(`its graphs are not those of a ${kind}; give the right --kind`)
  }
  throw refuse('it has no ONNX graphs; look for an export of it, such as onnx-community/NAME')
}

/** The variants with a complete set of graphs. */
function availableVariants(files: readonly HubFile[], kind: ModelKind): string[] {
  const whole = [...VARIANT_BY_SUFFIX].filter(([suffix]) => findSet(files, kind, suffix))
  return [...new Set(whole.map(([, variant]) => variant))]
}

function findSet(
  files: readonly HubFile[],
  kind: ModelKind,
  suffix: string,
): readonly HubFile[] | undefined {
  for (const folder of GRAPH_FOLDERS) {
    const find = (stem: string): HubFile[] =>
      files.filter(({ path }) => path === `${folder}${stem}${suffix}.onnx`)
    const set = GRAPH_SETS[kind].find(({ required }) => required.every((stem) => find(stem)[0]))
    if (set !== undefined) return [...set.required, ...(set.optional ?? [])].flatMap(find)
  }
  return undefined
}

function refuse(why: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `the repository cannot be used: ${why}`)
}
