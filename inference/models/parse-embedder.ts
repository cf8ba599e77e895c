import { parseImageRecipe } from '../media/image-recipe.ts'
import { ConfigFields } from './config-fields.ts'
import { graphsOf, parseMaxTokens, specBase } from './model-directory.ts'
import type { ModelDirectory } from './model-directory.ts'
import { refuse } from './model-files.ts'
import type { EmbedderSpec, ImageEmbedding, Pooling } from './model-spec.ts'

const IMAGE_STEMS = ['visual_model', 'vision_model', 'image_model']
const TEXT_STEMS = ['text_model', 'model', 'encoder']

/** One spec for each variant of the text graph. */
export async function parseEmbedder(directory: ModelDirectory): Promise<readonly EmbedderSpec[]> {
  const { files, config } = directory
  const { poolingFolder, laterModule } = await parseModules(directory)
  const said = await parsePooling(directory, poolingFolder)
  const maxTokens = await parseMaxTokens(directory)
  const sentence = await files.config('config_sentence_transformers.json')
  const prompts = sentence.textByName('prompts')
  const defaultPrompt = sentence.text('default_prompt_name')
  if (defaultPrompt !== undefined && !Object.hasOwn(prompts, defaultPrompt)) {
    throw refuse(`config_sentence_transformers.json: no prompt is called ${defaultPrompt}`)
  }
  const isPaddedToMax = PADDED_MODEL_TYPES.has(config.text('model_type') ?? '')
  const specs = graphsOf(files, TEXT_STEMS).map(async ({ variant, file }) => {
    const image = await parseImage(directory, variant)
    const pooling = said ?? (image === undefined ? 'mean' : TOWER_POOLING)
    const projection = files.graphLike(['text_projection'], variant)
    const graphFiles = [file, projection, image?.graphFile, image?.projectionFile]
    return {
      kind: 'embedder' as const,
      ...specBase(directory, variant, {
        graphFiles: graphFiles.filter((each) => each !== undefined),
        maxTokens,
      }),
      text: {
        graphFile: file,
        pooling,
        isPoolingGuessed: said === undefined && image === undefined,
        laterModule,
        projectionFile: projection,
        isPaddedToMax,
        hasAlignedRows: config.flag('quarry_aligned_rows') === true,
      },
      image,
      prompts,
      defaultPrompt,
    }
  })
  return Promise.all(specs)
}

async function parseImage(
  { files }: ModelDirectory,
  variant: string,
): Promise<ImageEmbedding | undefined> {
  const graphFile = files.graphLike(IMAGE_STEMS, variant)
  if (graphFile === undefined) return undefined
  const recipe = parseImageRecipe(await files.json('preprocessor_config.json'))
  const projectionFile = files.graphLike(['visual_projection', 'vision_projection'], variant)
  return { graphFile, projectionFile, recipe }
}

/** The poolings of Sentence Transformers by their flags; undefined: not served. */
const POOLING_BY_FLAG: readonly (readonly [string, Pooling | undefined])[] = [
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_lasttoken', 'last-token'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_mean_sqrt_len_tokens', undefined],
  ['pooling_mode_weightedmean_tokens', undefined],
]

/** Newer files name one pooling. */
const POOLING_BY_NAME: ReadonlyMap<string, Pooling> = new Map([
  ['cls', 'cls'],
  ['lasttoken', 'last-token'],
  ['max', 'max'],
  ['mean', 'mean'],
])

/** Models whose graphs have no mask and pool the last position, padding or not. */
const PADDED_MODEL_TYPES: ReadonlySet<string> = new Set(['siglip', 'siglip2'])

/** CLIP models pool the end token, which represents the whole text. */
const TOWER_POOLING: Pooling = 'last-token'

async function parsePooling(
  { files }: ModelDirectory,
  folder: string,
): Promise<Pooling | undefined> {
  const file = `${folder}/config.json`
  if (!files.has(file)) return undefined
  const config = await files.config(file)
  const named = POOLING_BY_NAME.get(config.text('pooling_mode') ?? '')
  if (named !== undefined) return named
  const chosen = POOLING_BY_FLAG.filter(([flag]) => config.flag(flag) === true)
  if (chosen.length > 1) {
    throw refuse(
      `${file}: it combines ${chosen.map(([flag]) => flag).join(' and ')}; only one pooling is supported`,
    )
  }
  const pooling = chosen[0]?.[1]
  if (pooling !== undefined) return pooling
  throw refuse(`${file}: it must name one of the poolings cls, mean, max and lasttoken`)
}

interface Modules {
  readonly poolingFolder: string
  readonly laterModule: string | undefined
}

const POOLING_FOLDER = '1_Pooling'
/** Modules that are applied: by the graph, by the runner, or always (vectors have length 1). */
const KNOWN_MODULES: ReadonlySet<string> = new Set([
  'Transformer',
  'Pooling',
  'Normalize',
  'CLIPModel',
])

/** Reads the steps of a Sentence Transformers model: `[{ idx, name, path, type }]`. */
async function parseModules({ files }: ModelDirectory): Promise<Modules> {
  const content = await files.json('modules.json')
  if (content === undefined) return { poolingFolder: POOLING_FOLDER, laterModule: undefined }
  if (!Array.isArray(content)) throw refuse('modules.json: it must hold a list')
  const steps: readonly unknown[] = content
  const modules = steps.map((step) => {
    const fields = new ConfigFields('modules.json', step)
    return { type: fields.text('type')?.split('.').at(-1) ?? '', path: fields.text('path') ?? '' }
  })
  const pooling = modules.find(({ type }) => type === 'Pooling')
  if (pooling !== undefined && pooling.path !== POOLING_FOLDER) {
    throw refuse(`modules.json: the path of Pooling must be ${POOLING_FOLDER}`)
  }
  const later = modules.find(({ type }) => !KNOWN_MODULES.has(type))
  return { poolingFolder: POOLING_FOLDER, laterModule: later && (later.path || later.type) }
}
