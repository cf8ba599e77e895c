// What a model directory says about its model, parsed and checked once. A spec is plain data: it is
// sent to workers as it is.

import type { ImageRecipe } from '../media/image-recipe.ts'

export const MODEL_KINDS = [
  'embedder',
  'chunker',
  'reranker',
  'generator',
  'recognizer',
  'rewriter',
] as const

export type ModelKind = (typeof MODEL_KINDS)[number]

/** In the models directory. */
export const FOLDER_BY_KIND: Readonly<Record<ModelKind, string>> = {
  embedder: 'embedders',
  chunker: 'chunkers',
  reranker: 'rerankers',
  generator: 'generators',
  recognizer: 'recognizers',
  rewriter: 'rewriters',
}

export type ModelSpec =
  EmbedderSpec | ChunkerSpec | RerankerSpec | GeneratorSpec | RecognizerSpec | RewriterSpec

export type SpecOf<Kind extends ModelKind> = Extract<ModelSpec, { readonly kind: Kind }>

interface SpecBase {
  /** As `/api/models` lists it: `name` or `owner/name`, with the variant's suffix. */
  readonly name: string
  /** Absolute. File names below are relative to it. */
  readonly directory: string
  /** Such as `f32` or `i8`. */
  readonly variant: string
  /** Of every file that a load reads. */
  readonly fileBytes: number
  /** How many tokens the model sees at most, special tokens included. */
  readonly maxTokens: number
}

export interface EmbedderSpec extends SpecBase {
  readonly kind: 'embedder'
  readonly text: TextEmbedding
  /** Undefined: text alone. */
  readonly image: ImageEmbedding | undefined
  /** Put before a text, by name (`query`, `document`). */
  readonly prompts: Readonly<Record<string, string>>
  readonly defaultPrompt: string | undefined
}

export type Pooling = 'mean' | 'cls' | 'max' | 'last-token'

export interface TextEmbedding {
  readonly graphFile: string
  readonly pooling: Pooling
  /** Whether the model's files say nothing about pooling. */
  readonly isPoolingGuessed: boolean
  /** A step behind pooling that only a graph which has it inside can do, such as `2_Dense`. */
  readonly laterModule: string | undefined
  /** A second graph from the pooled state to the shared space of text and images. */
  readonly projectionFile: string | undefined
  /** Every text is padded to `maxTokens`, as in training: the model looks at its last place. */
  readonly isPaddedToMax: boolean
}

export interface ImageEmbedding {
  readonly graphFile: string
  readonly projectionFile: string | undefined
  readonly recipe: ImageRecipe
}

export interface ChunkerSpec extends SpecBase {
  readonly kind: 'chunker'
  readonly graphFile: string
  /** By label id. */
  readonly labels: readonly string[]
}

export interface RerankerSpec extends SpecBase {
  readonly kind: 'reranker'
  readonly graphFile: string
}

export interface GeneratorSpec extends SpecBase {
  readonly kind: 'generator'
  readonly graphFile: string
  readonly layerCount: number
  readonly keyValueHeadCount: number
  readonly headSize: number
  /** Each of them ends a generation. */
  readonly eosIds: readonly number[]
  /** The text of a Jinja template; undefined: a model without one, whose messages are joined. */
  readonly chatTemplate: string | undefined
  readonly toolCallFormat: ToolCallFormat | undefined
  /** What the template may use, by their names there. */
  readonly specialTokens: Readonly<
    Record<'bos_token' | 'eos_token' | 'unk_token' | 'pad_token', string>
  >
  /** What the model's own configuration asks for; a request overrides it. */
  readonly sampling: SamplingDefaults
}

export const TOOL_CALL_FORMATS = [
  'functiongemma',
  'hermes',
  'llama3-json',
  'mistral',
  'mistral-args',
] as const

export type ToolCallFormat = (typeof TOOL_CALL_FORMATS)[number]

export interface SamplingDefaults {
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly repetitionPenalty: number | undefined
}

export interface RecognizerSpec extends SpecBase {
  readonly kind: 'recognizer'
  readonly model: RecognizerModel
  readonly capabilities: readonly RecognizerCapability[]
}

export const RECOGNIZER_CAPABILITIES = ['labels', 'zeroshot', 'relations', 'answers'] as const
export type RecognizerCapability = (typeof RECOGNIZER_CAPABILITIES)[number]

export type RecognizerModel =
  | {
      readonly type: 'token-classifier'
      readonly graphFile: string
      /** By label id. */
      readonly labels: readonly string[]
    }
  | {
      readonly type: 'gliner'
      readonly graphFile: string
      readonly spanMode: 'span' | 'token'
      /** Words of a span at most. */
      readonly maxWidth: number
      /** Words of a window at most. */
      readonly maxWords: number
      readonly entityToken: string
      readonly separatorToken: string
      readonly threshold: number
      readonly flat: boolean
      readonly multiLabel: boolean
      readonly defaultLabels: readonly string[]
      readonly relationThreshold: number
    }
  | { readonly type: 'rebel'; readonly seq2seq: Seq2SeqFiles; readonly maxLength: number }

export interface RewriterSpec extends SpecBase {
  readonly kind: 'rewriter'
  readonly seq2seq: Seq2SeqFiles
  /** Tokens of an answer at most. */
  readonly maxLength: number
  readonly beamCount: number
  readonly returnCount: number
}

export interface Seq2SeqFiles {
  readonly encoderFile: string
  readonly decoder:
    | { readonly type: 'pair'; readonly firstFile: string; readonly laterFile: string }
    /** One graph for both, told apart by `use_cache_branch`. */
    | { readonly type: 'merged'; readonly file: string }
  readonly startId: number
  readonly eosIds: readonly number[]
  readonly headCount: number
  readonly headSize: number
  readonly layerCount: number
}
