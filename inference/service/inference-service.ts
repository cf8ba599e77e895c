// The facade for the API: the services of all tasks, the list of models, and the readiness.

import type { ModelCatalog, SkippedModel } from '../models/model-catalog.ts'
import type { ModelFleet } from '../fleet/model-fleet.ts'
import { FOLDER_BY_KIND, MODEL_KINDS } from '../models/model-spec.ts'
import type { ModelKind, ModelSpec, RecognizerCapability } from '../models/model-spec.ts'
import { BUILTIN_HASH_NAME } from '../pipelines/builtin/builtin-hash.ts'
import { modelNotFound, shownNames } from '../pipelines/model-requests.ts'
import { detectToolCallFormat } from '../pipelines/generate/tool-call-format.ts'
import type { ChunkService } from '../pipelines/chunk/chunk-service.ts'
import type { EmbedService } from '../pipelines/embed/embed-service.ts'
import type { GenerateService } from '../pipelines/generate/generate-service.ts'
import type { RecognizeService } from '../pipelines/recognize/recognize-service.ts'
import type { RerankService } from '../pipelines/rerank/rerank-service.ts'
import type { RewriteService } from '../pipelines/rewrite/rewrite-service.ts'

/** A model that the configuration loads at the start, by its name. */
export interface PreloadedModel {
  readonly name: string
  /** The models of that name, at most one of each kind; empty: the name is unknown. */
  readonly specs: readonly ModelSpec[]
}

/** The parts of the service, built by `main.ts`. */
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

/** The version of the running server. */
export interface VersionInfo {
  readonly version: string
  /** Undefined: the installation does not say. */
  readonly gitCommit: string | undefined
  /** The time of the installation in ISO 8601, because nothing is compiled. */
  readonly buildTime: string
  /** The version of Node. */
  readonly runtimeVersion: string
}

/** An embedder or a generator. The clients of other servers' APIs know only these kinds. */
export interface ServedModelInfo {
  readonly name: string
  readonly kind: 'embedder' | 'generator'
  readonly variant: string
  readonly fileBytes: number
  /** The most tokens of an input; undefined: no limit. */
  readonly maxTokens: number | undefined
  readonly capabilities: readonly ('embedding' | 'completion' | 'tools')[]
}

/** A model that at least one worker has loaded. */
export interface LoadedModelState {
  readonly model: string
  readonly kind: ModelKind
  readonly workers: number
  /** The dimension of an embedder's vectors; absent for other kinds. */
  readonly dimension?: number
  /** Sentences for operators about the quality of its answers. */
  readonly warnings: readonly string[]
}

/** The progress of one preloaded model. */
export interface PreloadState {
  readonly model: string
  readonly state: 'loading' | 'loaded' | 'failed'
  /** The reason of a failure, after which the load is tried again. */
  readonly reason?: string
}

/** The state that readiness probes and operators see. */
export interface Readiness {
  /** True: workers are up, all preloaded models are loaded, and the server is not stopping. */
  readonly isReady: boolean
  /** The numbers of models by the folder of their kind, built-in models included. */
  readonly modelCounts: Readonly<Record<string, number>>
  readonly loaded: readonly LoadedModelState[]
  readonly preload: readonly PreloadState[]
  readonly skipped: readonly SkippedModel[]
}

/** The one object that the API calls. It owns no resource: `main.ts` closes the parts. */
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

  /** Makes the server not ready, so that load balancers stop sending requests. */
  beginStopping(): void {
    this.#isStopping = true
  }

  /** The names of all models of a kind, built-in ones included. */
  namesOf(kind: ModelKind): string[] {
    if (kind === 'embedder') return this.embed.modelNames()
    if (kind === 'chunker') return this.chunk.modelNames()
    return this.#catalog.ofKind(kind).map(({ name }) => name)
  }

  /** All generators and embedders. */
  servedModels(): readonly ServedModelInfo[] {
    return this.#served
  }

  /** The generator or embedder of this name. Throws NOT_FOUND if there is none. */
  requireServed(name: string): ServedModelInfo {
    if (name === BUILTIN_HASH_NAME) return BUILT_IN_EMBEDDER
    const spec = this.#catalog.find('generator', name) ?? this.#catalog.find('embedder', name)
    const info = spec && servedModelInfo(spec)
    if (info !== undefined) return info
    throw modelNotFound(name, 'GET /api/tags lists all models')
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
    if (specs.length === 0) {
      return { model, state: 'failed', reason: noSuchModel(this.#catalog) }
    }
    const failure = specs.map((spec) => this.#fleet.failureOf(spec)).find((each) => each)
    if (failure !== undefined) return { model, state: 'failed', reason: failure.message }
    return {
      model,
      state: specs.every((spec) => this.#fleet.isLoaded(spec)) ? 'loaded' : 'loading',
    }
  }
}

/** Why a model cannot be preloaded that no directory has, and which models there are, by what they are. */
export function noSuchModel(catalog: ModelCatalog): string {
  const there = MODEL_KINDS.flatMap((kind) => {
    const names = catalog.namesOf(kind)
    return names.length === 0 ? [] : [`the ${FOLDER_BY_KIND[kind]} ${shownNames(names)}`]
  })
  return `there is no such model; there are ${there.join('; ')}`
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
