// The specs of models: the contents of a model directory, parsed and checked once. A spec is plain
// data, because it is sent to workers.

import type { ImageRecipe } from '../media/image-recipe.ts'

export const MODEL_KINDS = [
  'embedder',
  'chunker',
  'reranker',
  'generator',
  'recognizer',
  'rewriter',
] as const

/** The task of a model. */
export type ModelKind = (typeof MODEL_KINDS)[number]

/** The folder of each kind in the models directory. */
export const FOLDER_BY_KIND: Readonly<Record<ModelKind, string>> = {
  embedder: 'embedders',
  chunker: 'chunkers',
  reranker: 'rerankers',
  generator: 'generators',
  recognizer: 'recognizers',
  rewriter: 'rewriters',
}

/** A served model. */
export type ModelSpec =
  EmbedderSpec | ChunkerSpec | RerankerSpec | GeneratorSpec | RecognizerSpec | RewriterSpec

/** The spec of one kind. */
export type SpecOf<Kind extends ModelKind> = Extract<ModelSpec, { readonly kind: Kind }>

interface SpecBase {
  /** The listed name: `name` or `owner/name`, with the variant's suffix. */
  readonly name: string
  /** The absolute path of the directory. All file names are relative to it. */
  readonly directory: string
  /** The number format of the weights, such as `f32` or `i8`. */
  readonly variant: string
  /** The bytes of all files that a load reads. */
  readonly fileBytes: number
  /** The most tokens that the model reads at once, special tokens included. */
  readonly maxTokens: number
}

/** A model that turns texts, and perhaps images, into vectors of one space. */
export interface EmbedderSpec extends SpecBase {
  readonly kind: 'embedder'
  readonly text: TextEmbedding
  /** Undefined: the model embeds only text. */
  readonly image: ImageEmbedding | undefined
  /** Texts to put before an input, by name (`query`, `document`). */
  readonly prompts: Readonly<Record<string, string>>
  /** The name of the prompt for requests that name none; undefined: no prompt. */
  readonly defaultPrompt: string | undefined
}

/** How the states of all tokens become one vector. */
export type Pooling = 'mean' | 'cls' | 'max' | 'last-token'

/** The text part of an embedder. */
export interface TextEmbedding {
  readonly graphFile: string
  readonly pooling: Pooling
  /** Whether `pooling` is a default, because no file of the model names it. */
  readonly isPoolingGuessed: boolean
  /** A step after pooling, such as `2_Dense`. The graph must contain it. Undefined: none. */
  readonly laterModule: string | undefined
  /** The graph that maps the pooled state into the shared space of text and images; undefined: none. */
  readonly projectionFile: string | undefined
  /** True: every text is padded to `maxTokens`, because the model pools its last position. */
  readonly isPaddedToMax: boolean
  /** True: equal texts get equal vectors in any batch, bit for bit on one machine (RowRule). */
  readonly hasAlignedRows: boolean
}

/** The image part of an embedder. */
export interface ImageEmbedding {
  readonly graphFile: string
  readonly projectionFile: string | undefined
  readonly recipe: ImageRecipe
}

/** A token classifier that finds the borders of chunks. */
export interface ChunkerSpec extends SpecBase {
  readonly kind: 'chunker'
  readonly graphFile: string
  /** By label id. */
  readonly labels: readonly string[]
}

/** A cross-encoder that scores documents against a query. */
export interface RerankerSpec extends SpecBase {
  readonly kind: 'reranker'
  readonly graphFile: string
}

/** A decoder that generates text. */
export interface GeneratorSpec extends SpecBase {
  readonly kind: 'generator'
  readonly graphFile: string
  readonly layerCount: number
  readonly keyValueHeadCount: number
  readonly headSize: number
  /** The tokens that end a generation. */
  readonly eosIds: readonly number[]
  /** The Jinja template; undefined: messages are joined without a template. */
  readonly chatTemplate: string | undefined
  /** The format that the configuration names; undefined: the template may show it. */
  readonly toolCallFormat: ToolCallFormat | undefined
  /** The special tokens by their names in the template. */
  readonly specialTokens: Readonly<
    Record<'bos_token' | 'eos_token' | 'unk_token' | 'pad_token', string>
  >
  /** The sampling that the model's configuration names. Requests override it. */
  readonly sampling: SamplingDefaults
}

export const TOOL_CALL_FORMATS = [
  'functiongemma',
  'hermes',
  'llama3-json',
  'mistral',
  'mistral-args',
] as const

/** A syntax for tool calls. */
export type ToolCallFormat = (typeof TOOL_CALL_FORMATS)[number]

/** The model's defaults; undefined: the server's default. */
export interface SamplingDefaults {
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly repetitionPenalty: number | undefined
}

/** A model that finds entities or relations. */
export interface RecognizerSpec extends SpecBase {
  readonly kind: 'recognizer'
  readonly model: RecognizerModel
  readonly capabilities: readonly RecognizerCapability[]
}

export const RECOGNIZER_CAPABILITIES = ['labels', 'zeroshot', 'relations', 'answers'] as const
export type RecognizerCapability = (typeof RECOGNIZER_CAPABILITIES)[number]

/** The three families of recognizers. */
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
      /** The most words of a span. */
      readonly maxWidth: number
      /** The most words of a window. */
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

/** An encoder-decoder that rewrites texts. */
export interface RewriterSpec extends SpecBase {
  readonly kind: 'rewriter'
  readonly seq2seq: Seq2SeqFiles
  /** The most tokens of an answer. */
  readonly maxLength: number
  readonly beamCount: number
  readonly returnCount: number
}

/** The graphs and sizes of an encoder-decoder. */
export interface Seq2SeqFiles {
  readonly encoderFile: string
  readonly decoder:
    | { readonly type: 'pair'; readonly firstFile: string; readonly laterFile: string }
    /** One graph for all steps. Its input `use_cache_branch` is true from the second step on. */
    | { readonly type: 'merged'; readonly file: string }
  readonly startId: number
  readonly eosIds: readonly number[]
  readonly headCount: number
  readonly headSize: number
  readonly layerCount: number
}
