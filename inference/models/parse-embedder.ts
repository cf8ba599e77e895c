import { parseImageRecipe } from '../media/image-recipe.ts'
import { graphsOf, parseMaxTokens, specBase } from './model-directory.ts'
import type { ModelDirectory } from './model-directory.ts'
import { refuse } from './model-files.ts'
import type { EmbedderSpec, ImageEmbedding, Pooling } from './model-spec.ts'

const IMAGE_STEMS = ['visual_model', 'vision_model', 'image_model']
const TEXT_STEMS = ['text_model', 'model', 'encoder']

export async function parseEmbedder(directory: ModelDirectory): Promise<readonly EmbedderSpec[]> {
  const { files, config } = directory
  const said = await parsePooling(directory)
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
      text: { graphFile: file, pooling, projectionFile: projection, isPaddedToMax },
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

const POOLING_BY_FLAG: readonly (readonly [string, Pooling])[] = [
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_lasttoken', 'last-token'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_tokens', 'mean'],
]

/** Their graphs know no mask, and pool the last place, whatever stands there. */
const PADDED_MODEL_TYPES: ReadonlySet<string> = new Set(['siglip', 'siglip2'])

/** Models of the CLIP family look at the end token, which stands for the whole text. */
const TOWER_POOLING: Pooling = 'last-token'

async function parsePooling({ files }: ModelDirectory): Promise<Pooling | undefined> {
  if (!files.has('1_Pooling/config.json')) return undefined
  const config = await files.config('1_Pooling/config.json')
  const chosen = POOLING_BY_FLAG.find(([flag]) => config.flag(flag) === true)
  if (chosen !== undefined) return chosen[1]
  throw refuse('1_Pooling/config.json: it names no pooling of cls, mean, max and lasttoken')
}
