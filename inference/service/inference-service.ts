// Everything the API can ask for, in one object.

import type { ModelCatalog, SkippedModel } from '../models/model-catalog.ts'
import type { ModelFleet } from '../fleet/model-fleet.ts'
import { FOLDER_BY_KIND, MODEL_KINDS } from '../models/model-spec.ts'
import type { ModelKind, ModelSpec, RecognizerCapability } from '../models/model-spec.ts'
import { BUILTIN_HASH_NAME } from '../pipelines/builtin/builtin-hash.ts'
import { modelNotFound } from '../pipelines/model-requests.ts'
import { detectToolCallFormat } from '../pipelines/generate/tool-call-format.ts'
import type { ChunkService } from '../pipelines/chunk/chunk-service.ts'
import type { EmbedService } from '../pipelines/embed/embed-service.ts'
import type { GenerateService } from '../pipelines/generate/generate-service.ts'
import type { RecognizeService } from '../pipelines/recognize/recognize-service.ts'
import type { RerankService } from '../pipelines/rerank/rerank-service.ts'
import type { RewriteService } from '../pipelines/rewrite/rewrite-service.ts'

/** A model that was asked for at the start, by its name. */
export interface PreloadedModel {
  readonly name: string
  /** One of each kind that has the name; empty: there is none. */
  readonly specs: readonly ModelSpec[]
}

export interface InferenceServiceParts {
  readonly catalog: ModelCatalog
  readonly fleet: ModelFleet
  readonly version: VersionInfo
  readonly preloaded: readonly PreloadedModel[]
  readonly embed: EmbedService
  readonly chunk: ChunkService
  readonly rerank: RerankService
  readonly generate: GenerateService
  readonly recognize: RecognizeService
  readonly rewrite: RewriteService
}

export interface VersionInfo {
  readonly version: string
  /** Undefined: nobody told. */
  readonly gitCommit: string | undefined
  /** ISO 8601; nothing is compiled, so it is when this version was put here. */
  readonly buildTime: string
  /** Of what runs the server. */
  readonly runtimeVersion: string
}

/** An embedder or a generator, which other servers' clients know alone. */
export interface ServedModelInfo {
  readonly name: string
  readonly kind: 'embedder' | 'generator'
  readonly variant: string
  readonly fileBytes: number
  /** Undefined: as many as there are. */
  readonly maxTokens: number | undefined
  readonly capabilities: readonly ('embedding' | 'completion' | 'tools')[]
}

export interface LoadedModelState {
  readonly model: string
  readonly kind: ModelKind
  readonly workers: number
  /** Of an embedder's vectors. */
  readonly dimension?: number
  /** What is to be known about its answers. */
  readonly warnings: readonly string[]
}

export interface PreloadState {
  readonly model: string
  readonly state: 'loading' | 'loaded' | 'failed'
  /** Why it failed; it is tried again. */
  readonly reason?: string
}

export interface Readiness {
  /** Workers are up, everything preloaded is loaded, and the server is not stopping. */
  readonly isReady: boolean
  /** By the folder of the kind. Built-in models count. */
  readonly modelCounts: Readonly<Record<string, number>>
  readonly loaded: readonly LoadedModelState[]
  readonly preload: readonly PreloadState[]
  readonly skipped: readonly SkippedModel[]
}

export class InferenceService {
  readonly embed: EmbedService
  readonly chunk: ChunkService
  readonly rerank: RerankService
  readonly generate: GenerateService
  readonly recognize: RecognizeService
  readonly rewrite: RewriteService
  readonly version: VersionInfo
  readonly #catalog: ModelCatalog
  readonly #served: readonly ServedModelInfo[]
  readonly #fleet: ModelFleet
  readonly #preloaded: readonly PreloadedModel[]
  #isStopping = false

  constructor(parts: InferenceServiceParts) {
    this.embed = parts.embed
    this.chunk = parts.chunk
    this.rerank = parts.rerank
    this.generate = parts.generate
    this.recognize = parts.recognize
    this.rewrite = parts.rewrite
    this.version = parts.version
    this.#catalog = parts.catalog
    this.#served = servedModelsOf(parts.catalog)
    this.#fleet = parts.fleet
    this.#preloaded = parts.preloaded
  }

  /** From now on not ready: whoever sends requests here should look elsewhere. */
  beginStopping(): void {
    this.#isStopping = true
  }

  namesOf(kind: ModelKind): string[] {
    if (kind === 'embedder') return this.embed.modelNames()
    if (kind === 'chunker') return this.chunk.modelNames()
    return this.#catalog.ofKind(kind).map(({ name }) => name)
  }

  /** Generators and embedders. */
  servedModels(): readonly ServedModelInfo[] {
    return this.#served
  }

  /** Of the models above the one of this name; NOT_FOUND if there is none. */
  requireServed(name: string): ServedModelInfo {
    if (name === BUILTIN_HASH_NAME) return BUILT_IN_EMBEDDER
    const spec = this.#catalog.find('generator', name) ?? this.#catalog.find('embedder', name)
    const info = spec && servedModelInfo(spec)
    if (info !== undefined) return info
    throw modelNotFound(name, 'GET /api/tags lists what there is')
  }

  recognizerCapabilities(): ReadonlyMap<string, readonly RecognizerCapability[]> {
    const specs = this.#catalog.ofKind('recognizer')
    return new Map(
      specs.flatMap((spec) =>
        spec.kind === 'recognizer' ? [[spec.name, spec.capabilities] as const] : [],
      ),
    )
  }

  readiness(): Readiness {
    const counts = MODEL_KINDS.map((kind) => [FOLDER_BY_KIND[kind], this.namesOf(kind).length])
    const preload = this.#preloaded.map((model) => this.#preloadState(model))
    const isPreloaded = preload.every(({ state }) => state === 'loaded')
    return {
      isReady: this.#fleet.isUp && isPreloaded && !this.#isStopping,
      modelCounts: Object.fromEntries(counts),
      loaded: this.#fleet.loadedModels().map(({ spec, workers, info }) => ({
        model: spec.name,
        kind: spec.kind,
        workers,
        warnings: info?.warnings ?? [],
        ...(info?.dimension === undefined ? {} : { dimension: info.dimension }),
      })),
      preload,
      skipped: this.#catalog.skipped,
    }
  }

  #preloadState({ name: model, specs }: PreloadedModel): PreloadState {
    if (specs.length === 0) return { model, state: 'failed', reason: 'there is no such model' }
    const failure = specs.map((spec) => this.#fleet.failureOf(spec)).find((each) => each)
    if (failure !== undefined) return { model, state: 'failed', reason: failure.message }
    return {
      model,
      state: specs.every((spec) => this.#fleet.isLoaded(spec)) ? 'loaded' : 'loading',
    }
  }
}

const BUILT_IN_EMBEDDER: ServedModelInfo = {
  name: BUILTIN_HASH_NAME,
  kind: 'embedder',
  variant: 'f32',
  fileBytes: 0,
  maxTokens: undefined,
  capabilities: ['embedding'],
}

function servedModelsOf(catalog: ModelCatalog): readonly ServedModelInfo[] {
  const infosOf = (kind: ServedModelInfo['kind']): ServedModelInfo[] =>
    catalog.ofKind(kind).flatMap((spec) => servedModelInfo(spec) ?? [])
  return [...infosOf('generator'), BUILT_IN_EMBEDDER, ...infosOf('embedder')]
}

function servedModelInfo(spec: ModelSpec): ServedModelInfo | undefined {
  const { name, variant, fileBytes, maxTokens } = spec
  const shared = { name, variant, fileBytes, maxTokens }
  if (spec.kind === 'embedder') return { ...shared, kind: spec.kind, capabilities: ['embedding'] }
  if (spec.kind !== 'generator') return undefined
  const tools = spec.toolCallFormat ?? detectToolCallFormat(spec.chatTemplate ?? '')
  const capabilities = tools === undefined ? (['completion'] as const) : CHAT_WITH_TOOLS
  return { ...shared, kind: spec.kind, capabilities }
}

const CHAT_WITH_TOOLS = ['completion', 'tools'] as const
